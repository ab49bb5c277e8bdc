// The pages of a published site: a match, the list of a run's matches, the search, and the switch
// between light and dark. Data are loaded as scripts, so that pages opened from disk can load them.
"use strict";

(() => {
  const {make, unpack} = gauntlet;
  const ROWS = 100, FOUND = 30, NAME = /^[A-Za-z0-9_-]+$/;
  const THEMES = ["system", "light", "dark"], THEME = "gauntlet_theme";
  const texts = new Map();

  function keptTheme() {  // some browsers keep nothing for pages opened from disk
    try { return localStorage.getItem(THEME) ?? "system"; } catch { return "system"; }
  }

  function wear(theme) {
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem(THEME, theme); } catch { /* this page wears it */ }
  }

  function themes() {
    const chosen = document.documentElement.dataset.theme;
    const field = make("select", {class: "theme", "aria-label": "look: system, light or dark",
      onchange: () => wear(field.value)}, ...THEMES.map(name => make("option", {}, name)));
    field.value = THEMES.includes(chosen) ? chosen : "system";
    return field;
  }

  document.documentElement.dataset.theme = keptTheme();  // before the page is painted

  gauntlet.take = text => texts.set(document.currentScript.src, text);

  const loaded = new Map();
  function load(path) {  // from the site's top folder
    if (!loaded.has(path)) loaded.set(path, new Promise((done, failed) => {
      const script = make("script", {src: document.body.dataset.top + path});
      script.onload = () => done(texts.get(script.src));
      script.onerror = () => failed(new Error(`${path} cannot be loaded`));
      document.head.append(script);
    }));
    return loaded.get(path);
  }

  const list = async path => unpack(await load(path));

  function address(run, one, twin) {
    const query = {run, part: one[0], id: one[1], ...(twin ? {twin: twin[1]} : {})};
    return `${document.body.dataset.top}match.html?${new URLSearchParams(query)}`;
  }

  async function showMatch(place) {
    const asked = new URLSearchParams(location.search);
    const [run, id, twin] = ["run", "id", "twin"].map(name => asked.get(name) ?? "");
    let part = asked.get("part") ?? "";
    if (NAME.test(run) && !part) {  // an address written by hand
      part = `${(await list(`data/${run}/list.js`)).matches.find(one => one[1] === id)?.[0]}`;
    }
    if (!NAME.test(run) || !/^\d+$/.test(part)) {
      place.textContent = "The address names no match.";
      return;
    }
    const title = `Match ${id}`;
    document.title = `${title} - Gauntlet`;
    document.querySelector("h1").textContent = title;
    const back = document.getElementById("run");
    back.href = `run/${run}.html`;
    back.textContent = run;
    place.className = "match";
    place.dataset.matches = twin ? `${id} ${twin}` : id;
    const file = name => load(`data/${run}/${name}.js`);
    await gauntlet.start(place, await file(part), file);
  }

  function table(headings, rows) {
    const line = (kind, cells) => make("tr", {}, ...cells.map(cell => make(kind, {}, cell)));
    return make("div", {class: "scroll", tabindex: 0}, make("table", {},
      line("th", headings), ...rows.map(row => line("td", row))));
  }

  const HEADINGS = ["match", "cell", "deal", "rotation", "result", "figure", "plies"];

  function matchRow(data, one) {
    const [, id, cell, deal, rotation, result, figure, plies] = one;
    return [make("a", {href: address(data.run, one)}, id), data.cells[cell],
      `${deal}`, `${rotation}`, result, `${figure}`, `${plies}`];
  }

  // The deals of two cells: first those that one won and the other lost.
  function twins(data, [a, b]) {
    const other = new Map(data.matches.filter(one => one[2] === b)
      .map(one => [`${one[3]} ${one[4]}`, one]));
    const pairs = data.matches.filter(one => one[2] === a && other.has(`${one[3]} ${one[4]}`))
      .map(one => [one, other.get(`${one[3]} ${one[4]}`)]);
    const rank = ([one, two]) => {
      const results = [one[5], two[5]].sort().join(" ");
      return results === "lost won" ? 0 : one[6] !== two[6] ? 1 : 2;
    };
    return pairs.sort((one, two) => rank(one) - rank(two));
  }

  function twinRow(data, [one, two]) {
    return [make("a", {href: address(data.run, one, two)}, `deal ${one[3]}, rotation ${one[4]}`),
      one[5], two[5], `${one[6]}`, `${two[6]}`];
  }

  async function showList(place) {
    const data = await list(place.dataset.list);
    const choose = (label, options) => {
      const field = make("select", {}, ...options.map(([value, text]) =>
        make("option", {value}, text)));
      return [field, make("label", {}, label, field)];
    };
    const pairs = data.pairs.map(([a, b], at) => [at, `${data.cells[a]} - ${data.cells[b]}`]);
    const [pair, pairLabel] = choose("twins of", [["none", "no two cells"], ...pairs]);
    const [cell, cellLabel] = choose("cell", [["all", "all"], ...data.cells.entries()]);
    const [result, resultLabel] = choose("result",
      ["all", "won", "lost", "drawn", "shared"].map(name => [name, name]));
    const rows = make("div"), told = make("p", {class: "note"});
    const more = make("button", {type: "button"}, "more");
    let most = ROWS;

    function show() {
      const chosen = data.pairs[pair.value];
      const found = chosen ? twins(data, chosen) : data.matches.filter(one =>
        (cell.value === "all" || one[2] === Number(cell.value))
        && (result.value === "all" || one[5] === result.value));
      cellLabel.hidden = resultLabel.hidden = Boolean(chosen);
      told.textContent = chosen
        ? `${found.length} deals that both played, first those that one won and the other lost`
        : `${found.length} matches`;
      const shown = found.slice(0, most);
      rows.replaceChildren(chosen
        ? table(["deal", ...chosen.map(at => data.cells[at]), "figure A", "figure B"],
          shown.map(two => twinRow(data, two)))
        : table(HEADINGS, shown.map(one => matchRow(data, one))));
      more.hidden = found.length <= most;
    }

    const again = () => { most = ROWS; show(); };
    for (const field of [pair, cell, result]) field.onchange = again;
    more.onclick = () => { most += 5 * ROWS; show(); };
    function fromHash() {
      const found = /^#pair=(\d+)$/.exec(location.hash);
      if (!found || !data.pairs[found[1]]) return;
      pair.value = found[1];
      again();
      place.scrollIntoView();
    }
    place.replaceChildren(make("div", {class: "filters"},
      ...(pairs.length ? [pairLabel] : []), cellLabel, resultLabel), told, rows, more);
    window.addEventListener("hashchange", fromHash);
    show();
    fromHash();
  }

  async function search(form) {
    const field = form.querySelector("input"), place = document.getElementById("found");
    const names = await unpack(form.dataset.names), paths = form.dataset.lists.split(" ");
    form.onsubmit = event => event.preventDefault();
    field.oninput = async () => {
      const wanted = field.value.trim().toLowerCase();
      const links = names.filter(([name]) => wanted && name.toLowerCase().includes(wanted))
        .map(([name, href]) => make("a", {href}, name));
      const show = () => place.replaceChildren(
        ...links.slice(0, FOUND).map(link => make("li", {}, link)));
      show();
      const deal = /^deal (\d+)$/.exec(wanted)?.[1];
      if (!deal && wanted.length < 3) return;
      for (const path of paths) {
        const data = await list(path);
        if (field.value.trim().toLowerCase() !== wanted) return;
        for (const one of data.matches) {
          if (links.length >= FOUND) break;
          if (deal ? one[3] === Number(deal) : one[1].startsWith(wanted)) {
            links.push(make("a", {href: address(data.run, one)},
              `match ${one[1]}: ${data.name}, ${data.cells[one[2]]}, deal ${one[3]}`));
          }
        }
        show();
      }
    };
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("nav.top").append(themes());
    for (const [id, act] of [["match", showMatch], ["matches-of", showList], ["search", search]]) {
      const place = document.getElementById(id);
      if (place) act(place).catch(error => { place.textContent = error.message; });
    }
  });
})();
