// Newick text: reading into arrays and writing from them, without recursion.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tree/tree.hpp"

namespace cladify {

// A node of Newick text, in order of appearance: a parent comes before its children.
struct NewickNodes {
    Ids parent;
    std::vector<double> length;  // to the parent; NaN where not given
    std::vector<double> height;  // from a [&cladify_height=...] note, then for all nodes; see newick_heights
    Ids level;                   // from a [&cladify_level=...] note; -1 where not given
    Ids name_start, name_end;    // bytes of the text, quotes included; equal where there is no name
    Ids number;                  // the name as a number, -1 where it is not just a number
    std::string fault;           // what was expected at `position`, empty when the text is one tree
    std::int64_t position = 0;
    bool has_lengths = false, has_heights = false, has_levels = false;
};

class NewickReader {
public:
    explicit NewickReader(std::string_view text) : text_(text) {}

    NewickNodes read() {
        if (!read_nodes()) out_.position = static_cast<std::int64_t>(at_);
        return std::move(out_);
    }

private:
    bool fail(const char* what) {
        out_.fault = what;
        return false;
    }

    std::int64_t add(std::int64_t parent) {
        out_.parent.push_back(parent);
        out_.length.push_back(std::numeric_limits<double>::quiet_NaN());
        out_.height.push_back(std::numeric_limits<double>::quiet_NaN());
        out_.level.push_back(-1);
        out_.name_start.push_back(0);
        out_.name_end.push_back(0);
        out_.number.push_back(-1);
        return std::ssize(out_.parent) - 1;
    }

    bool read_nodes() {
        std::int64_t open = -1;  // the node whose children are being read
        for (;;) {
            if (!skip(-1)) return false;
            if (peek() == '(') {
                ++at_;
                open = add(open);
                continue;
            }
            std::int64_t node = add(open);
            for (;;) {
                if (!read_label(node) || !read_length(node)) return false;
                const char c = peek();
                if (c == ';') {
                    if (open >= 0) return fail("')' before ';'");
                    ++at_;
                    if (!skip(-1)) return false;
                    return at_ == text_.size() || fail("nothing after ';' (one tree a text)");
                }
                if (at_ == text_.size()) return fail(open < 0 ? "';' at the end" : "')' before the end");
                if (c != ',' && c != ')') return fail(open < 0 ? "';'" : "',' or ')'");
                if (open < 0) return fail("';', because no '(' is open");
                ++at_;
                if (c == ',') break;
                node = open;
                open = out_.parent[node];
            }
        }
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
    static bool is_special(char c) {
        return c == '(' || c == ')' || c == '[' || c == ']' || c == ':' || c == ';' || c == ',' || c == '\'' ||
               c == '"';
    }

    // Skips blanks and comments; notes in [&...] comments are taken for `node` unless it is -1.
    bool skip(std::int64_t node) {
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == '[') {
                const std::size_t begin = at_;
                int depth = 0;
                for (; at_ < text_.size(); ++at_) {
                    if (text_[at_] == '[') ++depth;
                    if (text_[at_] == ']' && --depth == 0) break;
                }
                if (at_ == text_.size()) {
                    at_ = begin;
                    return fail("']' for this '['");
                }
                if (node >= 0 && !read_notes(node, text_.substr(begin + 1, at_ - begin - 1))) return false;
            } else if (!is_space(text_[at_])) {
                break;
            }
        }
        return true;
    }

    bool read_notes(std::int64_t node, std::string_view notes) {
        if (notes.empty() || notes[0] != '&') return true;
        notes.remove_prefix(1);
        while (!notes.empty()) {
            const std::size_t comma = notes.find(',');
            std::string_view note = notes.substr(0, comma);
            notes.remove_prefix(comma == std::string_view::npos ? notes.size() : comma + 1);
            // Other programs have notes of the same kind: BEAST's "height" is not ours.
            constexpr std::string_view kHeight = "cladify_height=", kLevel = "cladify_level=";
            if (note.starts_with(kHeight)) {
                if (!number(note.substr(kHeight.size()), out_.height[node]))
                    return fail("a number after 'cladify_height='");
                out_.has_heights = true;
            } else if (note.starts_with(kLevel)) {
                note.remove_prefix(kLevel.size());
                const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), out_.level[node]);
                if (error != std::errc{} || end != note.data() + note.size() || out_.level[node] < 0)
                    return fail("a whole number after 'cladify_level='");
                out_.has_levels = true;
            }
        }
        return true;
    }

    static bool number(std::string_view digits, double& value) {
        if (digits.starts_with('+')) digits.remove_prefix(1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc{} && end == digits.data() + digits.size() && std::isfinite(value);
    }

    bool read_label(std::int64_t node) {
        if (!skip(node)) return false;
        const std::size_t begin = at_;
        const char quote = peek();
        if (quote == '\'' || quote == '"') {
            for (++at_;; ++at_) {
                if (at_ >= text_.size()) {
                    at_ = begin;
                    return fail("an end of this quoted name");
                }
                if (text_[at_] != quote) continue;
                if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
                    ++at_;
                    continue;
                }
                ++at_;
                break;
            }
        } else {
            while (at_ < text_.size() && !is_space(text_[at_]) && !is_special(text_[at_])) ++at_;
            // 00, 007 and -0 are names; only a number as we would write it is one.
            const bool canonical = at_ > begin && (at_ - begin == 1 || (quote != '0' && quote != '-'));
            std::int64_t number = -1;
            const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, number);
            if (canonical && error == std::errc{} && end == text_.data() + at_) out_.number[node] = number;
        }
        out_.name_start[node] = static_cast<std::int64_t>(begin);
        out_.name_end[node] = static_cast<std::int64_t>(at_);
        return skip(node);
    }

    bool read_length(std::int64_t node) {
        if (peek() != ':') return true;
        ++at_;
        if (!skip(node)) return false;
        const std::size_t begin = at_;
        while (at_ < text_.size() && !is_space(text_[at_]) && !is_special(text_[at_])) ++at_;
        if (!number(text_.substr(begin, at_ - begin), out_.length[node])) {
            at_ = begin;
            return fail("a finite branch length after ':'");
        }
        out_.has_lengths = true;
        return skip(node);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    NewickNodes out_;
};

// Heights: a note where there is one, otherwise the longest way down by branch lengths (a missing one counts 0).
inline void newick_heights(NewickNodes& nodes) {
    std::vector<double> reach(nodes.parent.size(), 0.0);
    std::vector<std::uint8_t> seen(nodes.parent.size(), 0);
    for (std::size_t v = nodes.parent.size(); v-- > 0;) {
        if (!seen[v]) nodes.height[v] = 0;  // a leaf has height 0 whatever a note says
        if (std::isnan(nodes.height[v])) nodes.height[v] = reach[v];
        const std::int64_t p = nodes.parent[v];
        if (p < 0) continue;
        const double up = nodes.height[v] + (std::isnan(nodes.length[v]) ? 0.0 : nodes.length[v]);
        reach[p] = seen[p] ? std::max(reach[p], up) : up;
        seen[p] = 1;
    }
}

// Names as UTF-8 bytes one after the other; name i is [start[i], start[i+1]). No starts: leaves are named by number.
struct Names {
    std::string_view bytes;
    IdSpan start;
};

class NewickWriter {
public:
    NewickWriter(IdSpan parent, const Children& children, RealSpan height, IdSpan level, Names names, bool exact)
        : parent_(parent),
          children_(children),
          height_(height),
          level_(level),
          names_(names),
          exact_(exact),
          n_leaves_(std::ssize(parent) - std::ssize(children.start) + 1) {}

    std::string write() {
        const std::int64_t m = std::ssize(parent_);
        // The height by the branch lengths alone; where that is not the node's height, a note gives it.
        std::vector<double> reach(exact_ ? m : 0, -std::numeric_limits<double>::infinity());
        if (exact_) {
            std::fill_n(reach.begin(), n_leaves_, 0.0);
            for (std::int64_t v = 0; v + 1 < m; ++v)
                reach[parent_[v]] = std::max(reach[parent_[v]], height_[v] + length(v));
        }
        Ids next(children_.start.begin(), children_.start.end() - 1);
        std::int64_t v = m - 1;
        for (;;) {
            if (v >= n_leaves_ && next[v - n_leaves_] < children_.start[v - n_leaves_ + 1]) {
                out_ += next[v - n_leaves_] == children_.start[v - n_leaves_] ? '(' : ',';
                v = children_.child[next[v - n_leaves_]++];
                continue;
            }
            if (v < n_leaves_)
                name(v);
            else
                out_ += ')';
            notes(v, exact_ && v >= n_leaves_ && reach[v] != height_[v]);
            if (v == m - 1) break;
            out_ += ':';
            number(length(v));
            v = parent_[v];
        }
        out_ += ';';
        return std::move(out_);
    }

private:
    double length(std::int64_t v) const { return height_[parent_[v]] - height_[v]; }

    void number(double value) {
        char buffer[40];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
        out_.append(buffer, end);
    }

    void notes(std::int64_t v, bool with_height) {
        const bool with_level = !level_.empty() && (v >= n_leaves_ || level_.size() == 1);
        if (!with_height && !with_level) return;
        out_ += "[&";
        if (with_height) {
            out_ += "cladify_height=";
            number(height_[v]);
        }
        if (with_level) {
            if (with_height) out_ += ',';
            out_ += "cladify_level=";
            out_ += std::to_string(level_[v]);
        }
        out_ += ']';
    }

    void name(std::int64_t v) {
        if (names_.start.empty()) {
            out_ += std::to_string(v);
            return;
        }
        const std::string_view text = names_.bytes.substr(names_.start[v], names_.start[v + 1] - names_.start[v]);
        // Readers disagree on underscores outside quotes (a blank, by the old standard), so those are quoted too.
        const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
            return static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                   (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '+' || c == '/' || c == '@' || c == '#';
        });
        if (plain) {
            out_ += text;
            return;
        }
        out_ += '\'';
        for (const char c : text) {
            if (c == '\'') out_ += '\'';
            out_ += c;
        }
        out_ += '\'';
    }

    IdSpan parent_;
    const Children& children_;
    RealSpan height_;
    IdSpan level_;
    Names names_;
    bool exact_;
    std::int64_t n_leaves_;
    std::string out_;
};

}  // namespace cladify
