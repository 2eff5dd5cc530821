"""Names of groups: terms of texts, keywords, automatic names, names by a function of the user, search by words."""
