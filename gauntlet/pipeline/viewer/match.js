// The viewer of a match, or of two matches of one deal side by side. Pages with a server, single
// files and published sites all use it. HTML in its data is made by Python, where all text is
// escaped; everything else is set as text.
"use strict";

const gauntlet = (() => {
  const STEPS = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10};

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(inflated).text());
  }

  function make(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== "") made.setAttribute(key, value);
    }
    made.append(...inside);
    return made;
  }

  function facts(match) {
    const lines = match.facts.flatMap(([term, values]) => [
      make("dt", {}, term), make("dd", {}, ...values.map(value => make("div", {}, value))),
    ]);
    return make("dl", {class: "facts"}, ...lines);
  }

  function heading(match) {
    const outcome = match.facts.find(([term]) => term === "outcome")[1].join("; ");
    const name = make(match.href ? "a" : "span", {href: match.href}, match.name);
    return [make("h2", {}, name), make("p", {class: "note"}, outcome)];
  }

  class Viewer {
    constructor(place, data, ids, load) {
      this.data = data;
      this.load = load;
      this.matches = ids.map(id => data.matches[id]);
      this.last = Math.max(...this.matches.map(match => match.plies.length)) - 1;
      this.parts = this.divergence(ids);
      this.marked = [...Array(this.last).keys()].filter(at => this.mark(at));
      const styles = data.styles.map(style => make("style", {}, style));
      place.replaceChildren(...styles, ...this.head(), make("div", {class: "viewer"},
        make("div", {class: "moves"}, this.controls(), this.slider(), this.chart(), this.list()),
        this.panes()));
      this.at = -1;
      this.go(this.wanted() ?? (this.parts ?? 0));
      this.keys = event => this.key(event, place);
      this.hash = () => this.go(this.wanted() ?? this.at);
      document.addEventListener("keydown", this.keys);
      window.addEventListener("hashchange", this.hash);
    }

    get twins() { return this.matches.length > 1; }

    async html(match, at) {
      const number = match.start + Math.min(at, match.plies.length - 1);
      const place = this.data.starts.findLastIndex(start => start <= number);
      const part = await this.part(place);
      return part.plies[number - this.data.starts[place]].map(one => part.pieces[one]).join("");
    }

    // A part of the plies; of a large pack it is the name of a file, which is loaded once.
    part(place) {
      const {parts} = this.data;
      if (typeof parts[place] === "string") parts[place] = this.load(parts[place]).then(unpack);
      return parts[place];
    }

    ply(match, at) { return match.plies[Math.min(at, match.plies.length - 1)]; }

    mark(at) { return this.matches.map(match => match.plies[at]?.mark || "").sort().pop(); }

    divergence(ids) {
      return this.twins ? this.matches[0].twins.find(twin => twin.match === ids[1])?.at : undefined;
    }

    wanted() {
      const found = /(?:^#|&)ply=(\d{1,9})$/.exec(location.hash);
      return found ? Number(found[1]) : null;
    }

    head() {
      const notes = [...new Set(this.matches.map(match => match.note))];
      const shown = notes.map(note => make("p", {class: "note"}, note));
      if (this.twins) return [this.meeting(), ...shown];
      const [match] = this.matches;
      const links = match.twins.map(twin => make("li", {}, make("a", {href: twin.href}, twin.name),
        twin.at === null ? "" : `: ${this.same(match, twin.at)}`));
      const others = make("details", {class: "twins"},
        make("summary", {}, `same deal, other player (${links.length})`), make("ul", {}, ...links));
      return [facts(match), ...(links.length ? [others] : []), ...shown];
    }

    same(match, at) {
      return at < match.plies.length - 1 ? `same moves until ply ${at}` : "the same moves";
    }

    meeting() {
      const [one, other] = this.matches;
      if (this.parts === undefined) return make("p", {}, "Not matches of one deal.");
      const told = moves => /^\d+: [^;]*$/.test(moves) ? moves.replace(/^\d+: /, "") : moves;
      const moves = this.matches.map(match =>
        `${match.name} plays ${told(this.ply(match, this.parts).moves)}`);
      const same = this.parts < Math.max(one.plies.length, other.plies.length) - 1;
      return make("p", {class: "meeting"}, same
        ? `Same deal, same moves until ply ${this.parts}. There ${moves.join("; ")}.`
        : "Same deal, and the same moves to the end.");
    }

    controls() {
      const button = (text, title, act) => make("button", {type: "button", title, onclick: act,
        "aria-label": /\w/.test(text) ? undefined : title}, text);  // words are their own label
      this.where = make("span", {class: "where"});
      const mistakes = this.marked.length
        ? [button(`next mistake (${this.marked.length})`, "next mistake, or M", () => this.mistake())] : [];
      const parting = this.parts === undefined ? []
        : [button("where they part", "the first different move", () => this.go(this.parts))];
      return make("div", {class: "controls"},
        button("|<", "first", () => this.go(0)), button("<", "back", () => this.step(-1)),
        button(">", "on", () => this.step(1)), button(">|", "last", () => this.go(this.last)),
        this.where, ...parting, ...mistakes);
    }

    slider() {
      this.range = make("input", {type: "range", min: 0, max: this.last, "aria-label": "ply",
        oninput: () => this.go(Number(this.range.value))});
      return this.range;
    }

    chart() {
      const values = this.matches.map(match => match.plies.map((ply, at) => [at, ply.value])
        .filter(([, value]) => value !== undefined));
      if (!values.some(points => points.length > 1)) return "";
      const lines = values.map((points, number) => `<polyline class="side-${number}" points="${points
        .map(([at, value]) => `${100 * at / this.last},${30 - 30 * value}`).join(" ")}"/>`).join("");
      const chart = make("div", {class: "worth", role: "img",
        "aria-label": "chance to win after each judged move", title: "chance to win, judged"});
      chart.innerHTML = `<svg viewBox="0 0 100 30" preserveAspectRatio="none">
        <line x1="0" x2="100" y1="15" y2="15"/>${lines}<line class="now" y1="0" y2="30"/></svg>`;
      this.now = chart.querySelector(".now");
      return chart;
    }

    list() {
      this.buttons = [...Array(this.last).keys()].map(at => {
        const moves = this.matches.map(match => match.plies[at]?.moves ?? "over");
        const told = [...new Set(moves)].join(" | ");
        const kinds = [this.matches.some(match => match.plies[at]?.fallback) && "warning",
          at === this.parts && "parting"].filter(Boolean).join(" ");
        return make("button", {type: "button", class: kinds, onclick: () => this.go(at)}, told,
          ...(this.mark(at) ? [make("b", {class: "mark"}, ` ${this.mark(at)}`)] : []));
      });
      return make("ol", {class: "list", start: 0},
        ...this.buttons.map(button => make("li", {}, button)));
    }

    panes() {
      this.shown = this.matches.map(() => make("div", {class: "ply"}));
      const panes = this.matches.map((match, number) => make("div", {class: `pane side-${number}`},
        ...(this.twins ? heading(match) : []), this.shown[number]));
      return make("div", {class: this.twins ? "panes two" : "panes"}, ...panes);
    }

    key(event, place) {
      if (!place.isConnected) {  // a page without reloads has replaced it
        document.removeEventListener("keydown", this.keys);
        window.removeEventListener("hashchange", this.hash);
      } else if (!event.altKey && !event.ctrlKey && !event.metaKey
          && !event.target.closest("input, textarea, select")) {
        if (event.key === "m") this.mistake();
        if (STEPS[event.key]) {
          event.preventDefault();
          this.step(STEPS[event.key]);
        }
      }
    }

    // A step never leaps over the move at which two matches part.
    step(by) {
      const to = this.at + by;
      this.go(this.at < this.parts && to > this.parts ? this.parts : to);
    }

    mistake() {
      const next = this.marked.find(at => at > this.at) ?? this.marked[0];
      if (next !== undefined) this.go(next);
    }

    go(ply) {
      const at = Math.min(Math.max(ply, 0), this.last);
      if (at === this.at) return;
      this.buttons[this.at]?.removeAttribute("aria-current");
      this.at = at;
      this.range.value = at;
      this.where.textContent = at < this.last ? `ply ${at} of ${this.last}` : "over";
      this.now?.setAttribute("transform", `translate(${100 * at / this.last})`);
      history.replaceState(history.state, "", `#ply=${at}`);
      this.matches.forEach((match, number) => {
        this.show(this.shown[number], this.html(match, at), at);
        this.shown[number].classList.toggle("ended", at >= match.plies.length - 1);
      });
      const current = this.buttons[at];
      if (!current) return;
      current.setAttribute("aria-current", "step");
      const list = current.closest("ol");
      list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
    }

    async show(place, html, at) {
      const shown = await html.catch(error => error);
      if (at !== this.at) return;  // another ply was asked for meanwhile
      if (shown instanceof Error) place.textContent = shown.message;
      else place.innerHTML = shown;
    }
  }

  // Shows the matches that the element names, from its own data or a text given. load: returns the
  // text of a further file.
  async function start(place, text = place.dataset.packed, load = undefined) {
    const data = await unpack(text);
    const ids = place.dataset.matches.split(" ").filter(id => data.matches[id]);
    if (ids.length) new Viewer(place, data, ids, load);
    else place.textContent = "There is no such match here.";
  }

  document.addEventListener("DOMContentLoaded", () =>
    document.querySelectorAll(".match[data-packed]").forEach(place => start(place)));
  return {make, start, unpack};
})();
