"""Names by a language model on a server: bottom-up, one question a group, each answer kept as soon as it comes."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cladify._kit.openai import Send, Server, Trouble, is_server_name
from cladify._kit.params import check_int
from cladify._kit.progress import Progress
from cladify._kit.text import shorten
from cladify.errors import CladifyWarning, InvalidInput, ServerError
from cladify.taxonomy._names.answers import Answers, Audit
from cladify.taxonomy._names.budget import Budget, Spent
from cladify.taxonomy._names.namer import Namer
from cladify.taxonomy._names.prompt import MOST_CHARACTERS, Group, Messages, Prompt, key_of, most_tokens, tokens_of
from cladify.taxonomy._names.reply import Unusable, alike, content_of, read_name, words_of
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.text._models import load_callable

__all__ = ["ModelNamer", "NamingCost", "Outcome", "as_namer"]

#: The most tokens of an answer, with room for models that think aloud, and those of a usual one.
_MOST_ANSWER = 1000
_USUAL_ANSWER = 12
#: Questions about a group: the first, and one more where the answer was no name.
_TRIES = 2
#: The share of groups that are expected to be asked about again in the second pass.
_SECOND_PASS = 0.04
_N_KEYWORDS, _N_ITEMS, _N_GROUPS = 10, 8, 15
_ITEM_CHARACTERS = 200


class NamingCost(NamedTuple):
    """What names by a model will take, about: calls, tokens of the questions and answers, answers known already."""

    calls: int
    tokens: int
    known: int


@dataclass
class Outcome:
    """What came of a run: groups whose answers were no names, with a reason, and why it ended early, if it did."""

    unusable: list[tuple[int, str]] = field(default_factory=list)
    stopped: str | None = None

    def warn(self) -> None:
        """Say in one line which groups keep the names they had."""
        if self.unusable:
            n, (v, why) = len(self.unusable), self.unusable[0]
            keep = f"{n} groups keep their names" if n > 1 else "one group keeps its name"
            warnings.warn(CladifyWarning(f"{keep}, because no answer was usable (node {v}: {why})."), stacklevel=4)
        if self.stopped is not None:
            warnings.warn(
                CladifyWarning(f"{self.stopped}; groups not named yet keep their names. Run it again to go on."),
                stacklevel=4,
            )


class _Unknown(Exception):
    """A question that was not asked before."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages


class ModelNamer:
    """Names by a language model on a server with the OpenAI API, for :meth:`Taxonomy.name`.

    Groups are named bottom-up: the lowest from their keywords and central items, those above from their keywords and
    the names of the groups in them. Then groups whose names are alike to a sibling's are asked about again. A question
    is about one group and has nothing of the others in it. An answer that is no name is asked for once more; after
    that the group keeps its name.

    Sent are, for each group: up to 10 keywords, and up to 8 items of 200 characters or the names of the 15 largest
    groups in it; and ``about``, ``language`` and the template.

    Parameters
    ----------
    model : str
        ``openai:MODEL@URL``, such as ``openai:gpt-4o-mini@https://api.openai.com/v1``, or ``ollama:MODEL`` for Ollama
        on this machine.
    about : str, optional
        What the items are, such as "bug reports of a web browser".
    language : str, optional
        The language of the names, such as "German" or "de"; by default that of the items.
    prompt : str, optional
        A template of your own for the question, with the fields ``{data}`` and, if you like, ``{about}`` and
        ``{language}``.
    max_calls, max_tokens : int, optional
        A budget for one run, never passed: a call is sent only if the most it can take is left.
    key_env : str, optional
        The environment variable with the key; by default ``OPENAI_API_KEY``, if it is set.
    concurrency : int
        The most calls at the same time.
    timeout : float
        Seconds that an answer may take.
    audit : path, optional
        A file to which every question and every answer is added, as JSON lines.

    Examples
    --------
    >>> from cladify.taxonomy import ModelNamer
    >>> namer = ModelNamer("ollama:llama3.2", about="bug reports of a web browser", max_calls=500)
    >>> taxonomy.name(namer, cache="names.answers")  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str,
        *,
        about: str | None = None,
        language: str | None = None,
        prompt: str | None = None,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        key_env: str | None = None,
        concurrency: int = 4,
        timeout: float = 120.0,
        audit: str | os.PathLike[str] | None = None,
    ) -> None:
        self.model = model
        self.language = language
        self.audit = audit
        self.prompt = Prompt(prompt, about=about, language=language)
        self.concurrency = check_int("concurrency", concurrency, low=1, high=256)
        self._limits = max_calls, max_tokens
        self._options: dict[str, Any] = {"key_env": key_env, "timeout": timeout, "connections": self.concurrency}
        Server.parse(model, **self._options)  # raises now where it would raise later
        Budget(*self._limits)

    def cost(self, now: Snapshot, cache: str | os.PathLike[str] | None) -> NamingCost:
        """What a run will take; nothing is sent."""
        server = Server.parse(self.model, **self._options)
        with Answers(cache if cache is not None and os.path.exists(cache) else None) as answers:
            return _Asking(self, now, server, answers, Audit(None), Budget()).cost()

    def run(
        self,
        now: Snapshot,
        *,
        retries: int,
        cache: str | os.PathLike[str] | None,
        report: Progress,
        outcome: Outcome,
        only: Collection[int] | None = None,
    ) -> Iterator[tuple[int, str]]:
        """Nodes and their names as they come, and in the end those of the second pass."""
        budget = Budget(*self._limits)
        with (
            Server.parse(self.model, retries=retries, **self._options) as server,
            Answers(cache) as answers,
            Audit(self.audit) as audit,
        ):
            try:
                yield from _Asking(self, now, server, answers, audit, budget, only).run(report, outcome)
            except Trouble as trouble:
                more = " Answers so far are kept; call it again to go on." if budget.tokens else ""
                raise ServerError(f"{trouble}{more}") from None


class _Asking:
    """One run over the groups of a taxonomy."""

    def __init__(
        self,
        namer: ModelNamer,
        now: Snapshot,
        server: Server,
        answers: Answers,
        audit: Audit,
        budget: Budget,
        only: Collection[int] | None = None,
    ) -> None:
        self.namer, self.now, self.server = namer, now, server
        self.answers, self.audit, self.budget = answers, audit, budget
        tree, n = now.tree, now.n_items
        inner = range(n, tree.root)
        self.parts = {v: [u for u in tree.children(v).tolist() if u >= n] for v in range(n, tree.n_nodes)}
        by_hand, automatic = now.edited.names, now.names
        #: Names that stand: those given by hand, and those from usable answers.
        stand = set() if only is None else set(inner) - set(only)
        self.names = {v: automatic[v] for v in inner if v in stand or int(now.edited.keys[v]) in by_hand}
        self.nodes = [v for v in inner if v not in self.names]
        if self.nodes and not now.facts.has_items and not any(now.facts.keywords):
            raise InvalidInput("the items are only numbers, which say nothing to a model; give items or texts.")
        self._options: dict[str, Any] = {
            "temperature": 0,
            "max_tokens": _MOST_ANSWER,
            "response_format": {"type": "json_object"},
        }
        self._lock = threading.Lock()

    # --- one group ----------------------------------------------------------------------------------------------------

    def group(self, v: int) -> Group:
        """What is said of a group: its keywords, and the groups in it where they are most of it, else items."""
        tree, now = self.now.tree, self.now
        parts = sorted(self.parts[v], key=lambda u: (-tree.size[u], u))
        keywords = tuple(shorten(word, MOST_CHARACTERS) for word in now.keywords(v, _N_KEYWORDS))
        groups = tuple(self.name_in_question(u) for u in parts[:_N_GROUPS])
        if 2 * sum(int(tree.size[u]) for u in parts) > tree.size[v]:
            return Group(keywords, groups=groups)
        items = now.examples(v, _N_ITEMS).central if now.facts.has_items else []
        return Group(keywords, tuple(shorten(item, _ITEM_CHARACTERS) for item in items), groups)

    def name_in_question(self, u: int) -> str:
        """The name of a group in the question about the one above it; its keywords where no answer was usable."""
        return shorten(self.names.get(u) or ", ".join(self.now.keywords(u, 3)), MOST_CHARACTERS)

    def settled(self, group: Group, taken: str | None = None, others: tuple[str, ...] = ()) -> str | Unusable:
        """The name from answers known already, or why there is none; :class:`_Unknown` where one has to be asked."""
        why: Unusable | None = None
        for _ in range(_TRIES):
            messages = self.namer.prompt.about_group(group, taken=taken, reason=None if why is None else str(why))
            text = self.answers.get(key_of(self.server.model, messages))
            if text is None:
                raise _Unknown(messages)
            try:
                name = read_name(text, known=group.text, language=self.namer.language)
                if any(alike(name, other) for other in others):
                    raise Unusable("the name was not different enough")
                return name
            except Unusable as error:
                why = error
        assert why is not None
        return why

    def answer(self, group: Group, taken: str | None = None, others: tuple[str, ...] = ()) -> str | Unusable | Spent:
        """As :meth:`settled`, after asking what has to be asked, if the budget allows it."""
        while True:
            try:
                return self.settled(group, taken, others)
            except _Unknown as question:
                try:
                    self.ask(question.messages)
                except Spent as spent:
                    return spent

    def ask(self, messages: Messages) -> None:
        """Send a question and keep the answer."""
        key = key_of(self.server.model, messages)
        most = most_tokens(messages) + _MOST_ANSWER

        def guard(send: Send) -> dict[str, Any]:
            self.budget.reserve(most)
            used = most
            try:
                self.audit.add("asked", key=key, model=self.server.model, url=self.server.url, messages=messages)
                reply = send()
                text = content_of(reply)
                self.answers.put(key, text)
                used = _usage(reply, most)
                self.audit.add("answered", key=key, answer=text, tokens=used)
                return reply
            except Trouble as trouble:
                used = 0 if trouble.refused else most
                self.audit.add("failed", key=key, reason=str(trouble))
                raise
            finally:
                self.budget.settle(most, used)

        while True:
            options = self._options
            try:
                self.server.post("chat/completions", {"messages": messages, **options}, guard)
                return
            except Trouble as trouble:
                fewer = _without(options, str(trouble)) if trouble.status in (400, 422) else None
                if fewer is None:
                    raise
                with self._lock:
                    self._options = fewer

    # --- all groups ---------------------------------------------------------------------------------------------------

    def run(self, report: Progress, outcome: Outcome) -> Iterator[tuple[int, str]]:
        pool = ThreadPoolExecutor(self.namer.concurrency)
        try:
            with report.stage("naming", len(self.nodes)) as advance:
                yield from self.bottom_up(pool, outcome, advance)
            if outcome.stopped is None:
                yield from self.second_pass(pool, outcome, report)
        finally:
            self.server.close()
            pool.shutdown(cancel_futures=True)

    def bottom_up(
        self, pool: ThreadPoolExecutor, outcome: Outcome, advance: Callable[..., None]
    ) -> Iterator[tuple[int, str]]:
        """Names of groups, each asked for when those of all groups in it are there."""
        waiting_for = {v: sum(u not in self.names for u in self.parts[v]) for v in self.nodes}
        above = {u: v for v, parts in self.parts.items() for u in parts}
        tasks = {pool.submit(self.answer, self.group(v)): v for v in self.nodes if not waiting_for[v]}
        for v, found in self.as_completed(tasks):
            if isinstance(found, Spent):
                outcome.stopped = str(found)
                continue
            if isinstance(found, str):
                self.names[v] = found
                yield v, found
            else:
                outcome.unusable.append((v, str(found)))
            advance()
            parent = above[v]
            if parent in waiting_for:
                waiting_for[parent] -= 1
                if not waiting_for[parent]:
                    tasks[pool.submit(self.answer, self.group(parent))] = parent

    def second_pass(self, pool: ThreadPoolExecutor, outcome: Outcome, report: Progress) -> Iterator[tuple[int, str]]:
        """Other names for groups whose names are alike to that of a sibling, which it fits better."""
        again = self.like_a_sibling()
        fresh: dict[int, str | Unusable | Spent] = {}
        with report.stage("names alike", len(again)) as advance:
            tasks = {pool.submit(self.answer, self.group(v), self.names[v], others): v for v, others in again.items()}
            for v, found in self.as_completed(tasks):
                fresh[v] = found
                advance()
        kept = {v: name for v, name in self.names.items() if v not in again}
        for v in again:  # in a fixed order, because two of them may have got the same name again
            found = fresh[v]
            if isinstance(found, str) and any(alike(found, kept[u]) for u in self.siblings(v) if u in kept):
                found = Unusable("the name was not different enough")
            if isinstance(found, Spent):
                outcome.stopped = str(found)
            elif isinstance(found, str):
                kept[v] = found
                yield v, found
            else:
                outcome.unusable.append((v, str(found)))
                yield v, self.now.names[v]

    def as_completed(self, tasks: dict[Future[Any], int]) -> Iterator[tuple[int, Any]]:
        """Nodes and results of tasks as they are done, with those that are added meanwhile.

        After an error or Ctrl-C no call is sent any more, but those under way may be paid for: their answers are
        waited for, and the error is raised then.
        """
        error: BaseException | None = None
        while tasks:
            try:
                done, _ = wait(tasks, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt as stop:
                if isinstance(error, KeyboardInterrupt):
                    raise
                error = stop
                self.server.close()
                continue
            for task in done:
                v = tasks.pop(task)
                try:
                    found = task.result()
                except Exception as failure:
                    error = error or failure
                    self.server.close()
                else:
                    yield v, found
        if error is not None:
            raise error

    def siblings(self, v: int) -> list[int]:
        return [u for u in self.parts[int(self.now.tree.parent[v])] if u != v]

    def like_a_sibling(self) -> dict[int, tuple[str, ...]]:
        """Groups to ask about again, with the names that they cannot have.

        Of groups with names alike, the one whose keywords have most of the words of the name keeps it (the larger one
        of two that have as many). Names given by hand stay.
        """
        asked = set(self.nodes)
        again: dict[int, tuple[str, ...]] = {}
        for parts in self.parts.values():
            named = [u for u in parts if u in self.names]
            kept: list[int] = []
            for u in sorted(named, key=lambda u: (u in asked, -self._fit(u), -self.now.tree.size[u], u)):
                if u in asked and any(alike(self.names[u], self.names[other]) for other in kept):
                    again[u] = ()
                else:
                    kept.append(u)
            names = tuple(self.names[u] for u in kept)
            again.update({u: names for u in parts if u in again})
        return again

    def _fit(self, v: int) -> float:
        words = words_of(self.names[v])
        keywords = set(words_of(" ".join(self.now.keywords(v, 2 * _N_KEYWORDS))))
        return sum(word in keywords for word in words) / max(len(words), 1)

    # --- what it will take --------------------------------------------------------------------------------------------

    def cost(self) -> NamingCost:
        """Calls and tokens of a run whose answers are all usable at once."""
        calls = tokens = 0
        open_nodes: set[int] = set()
        for v in self.nodes:  # children before parents
            group = self.group(v)
            try:
                found = self.settled(group)
                if open_nodes.isdisjoint(self.parts[v]):
                    if isinstance(found, str):
                        self.names[v] = found
                    continue
                messages = self.namer.prompt.about_group(group)
            except _Unknown as question:
                messages = question.messages
            open_nodes.add(v)
            calls += 1
            tokens += tokens_of(messages) + _USUAL_ANSWER
        known = len(self.nodes) - calls
        if open_nodes:
            more = int(_SECOND_PASS * calls)
        else:
            more = sum(self._is_open(v, others) for v, others in self.like_a_sibling().items())
        usual = tokens / calls if calls else tokens_of(self.namer.prompt.about_group(Group(()))) + _USUAL_ANSWER
        return NamingCost(calls + more, round(tokens + more * usual), known)

    def _is_open(self, v: int, others: tuple[str, ...]) -> bool:
        try:
            self.settled(self.group(v), self.names[v], others)
        except _Unknown:
            return True
        return False


def as_namer(namer: Namer | ModelNamer | str) -> Namer | ModelNamer:
    """What a name stands for: a model on a server, or a function called ``module:function``."""
    if not isinstance(namer, str):
        return namer
    return ModelNamer(namer) if is_server_name(namer) else load_callable(namer, "namer")


def _usage(reply: dict[str, Any], most: int) -> int:
    """Tokens that a server says a call took; the most it can take where it says nothing."""
    usage = reply.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else most


def _without(options: dict[str, Any], message: str) -> dict[str, Any] | None:
    """The options without the one that a server does not take; None if its message names none of them."""
    if "max_completion_tokens" in message and "max_tokens" in options:
        options = {**options, "max_completion_tokens": options["max_tokens"]}
        del options["max_tokens"]
        return options
    refused = next((name for name in ("response_format", "temperature") if name in options and name in message), None)
    return None if refused is None else {name: value for name, value in options.items() if name != refused}
