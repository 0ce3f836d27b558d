"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const step = 200; // rows that are shown, and that each press of the button adds
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const milliseconds = (us) => us === 0 ? "–" : (us / 1000).toFixed(us >= 100000 ? 0 : us >= 10000 ? 1 : 2);
  const age = (s) => s < 0 ? "" : s < 120 ? s + "s" : s < 7200 ? Math.floor(s / 60) + "m" : s < 172800 ? Math.floor(s / 3600) + "h" : Math.floor(s / 86400) + "d";

  // table adds a table that can be sorted and filtered. A column has a title, the value by which
  // its rows are sorted, and the text of a cell. Rows are sorted by badness at first.
  const table = (title, id, rows, columns, isBad, choices) => {
    const section = element("section");
    section.setAttribute("aria-labelledby", id);
    const heading = element("h2", title);
    heading.id = id;
    const tools = element("div", undefined, "tools");
    const search = element("input");
    search.type = "search";
    search.id = id + "-filter";
    const label = element("label", "Filter ");
    label.htmlFor = search.id;
    label.append(search);
    tools.append(label);
    const onlyBad = element("input");
    onlyBad.type = "checkbox";
    onlyBad.id = id + "-failing";
    const onlyLabel = element("label");
    onlyLabel.append(onlyBad, " Only failing");
    tools.append(onlyLabel);
    const selects = choices.map(({ name, values, of }) => {
      const select = element("select");
      select.id = id + "-" + name.toLowerCase();
      select.append(new Option("all", ""), ...values.map((text, i) => new Option(text, String(i))));
      const its = element("label", name + " ");
      its.append(select);
      tools.append(its);
      return { select, of };
    });
    const shown = element("output");
    shown.id = id + "-shown";
    tools.append(shown);

    const scroll = element("div", undefined, "tall");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-labelledby", id);
    const grid = element("table");
    grid.id = id + "-table";
    grid.setAttribute("aria-labelledby", id);
    const head = element("tr");
    const body = element("tbody");
    const more = element("button", "Show more", "more");
    let sorted = { column: -1, descending: false }, limit = step;

    const texts = rows.map((row) => columns.map((c) => c.text(row)));
    const haystack = texts.map((cells) => cells.join("\u0000").toLowerCase());
    const draw = () => {
      const needle = search.value.trim().toLowerCase();
      let found = rows.map((_, i) => i).filter((i) => (!needle || haystack[i].includes(needle)) && (!onlyBad.checked || isBad(rows[i])) &&
        selects.every(({ select, of }) => select.value === "" || of(rows[i]) === Number(select.value)));
      if (sorted.column >= 0) {
        const value = columns[sorted.column].value;
        const sign = sorted.descending ? -1 : 1;
        found.sort((a, b) => {
          const x = value(rows[a]), y = value(rows[b]);
          return (x < y ? -1 : x > y ? 1 : 0) * sign || a - b;
        });
      }
      const part = found.slice(0, limit).map((i) => {
        const line = element("tr");
        columns.forEach((c, j) => {
          const cell = element(j === 0 ? "th" : "td", texts[i][j], [c.number ? "number" : "", c.long ? "long" : "", c.bad && c.bad(rows[i]) ? "bad" : ""].join(" ").trim());
          if (j === 0) cell.scope = "row";
          line.append(cell);
        });
        return line;
      });
      body.replaceChildren(...part);
      shown.textContent = part.length + " of " + found.length + " shown";
      more.hidden = found.length <= limit;
    };
    columns.forEach((c, j) => {
      const th = element("th", undefined, c.number ? "number" : "");
      th.scope = "col";
      th.setAttribute("aria-sort", "none");
      const button = element("button", c.title);
      button.type = "button";
      button.addEventListener("click", () => {
        sorted = { column: j, descending: sorted.column === j ? !sorted.descending : Boolean(c.number) };
        for (const other of head.children) other.setAttribute("aria-sort", "none");
        th.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
        draw();
      });
      th.append(button);
      head.append(th);
    });
    const again = () => { limit = step; draw(); };
    search.addEventListener("input", again);
    onlyBad.addEventListener("change", again);
    selects.forEach(({ select }) => select.addEventListener("change", again));
    more.type = "button";
    more.addEventListener("click", () => { limit += step; draw(); });
    const thead = element("thead");
    thead.append(head);
    grid.append(thead, body);
    scroll.append(grid);
    section.append(heading, tools, scroll, more);
    document.getElementById("tables").append(section);
    draw();
  };

  const share = (failing, all) => failing + " of " + all;
  table("Nodes", "nodes", data.nodes, [
    { title: "Node", value: (n) => data.texts[n[0]], text: (n) => data.texts[n[0]] },
    { title: "State", value: (n) => -(n[2] * 1e6 + n[4] + n[6]), text: (n) => n[2] ? "NO RECENT REPORT" : n[4] + n[6] ? "FAILING" : "reaches all", bad: (n) => n[2] || n[4] + n[6] > 0 },
    { title: "Failing from it", number: true, value: (n) => n[4], text: (n) => share(n[4], n[3]) },
    { title: "Failing to it", number: true, value: (n) => n[6], text: (n) => share(n[6], n[5]) },
    { title: "Last report", number: true, value: (n) => n[1] < 0 ? Infinity : n[1], text: (n) => n[1] < 0 ? "never" : age(n[1]) + " ago" },
    { title: "MTU", number: true, value: (n) => n[7], text: (n) => n[7] ? String(n[7]) : "–" },
  ], (n) => n[2] || n[4] + n[6] > 0, []);
  table("Targets", "targets", data.targets, [
    { title: "From", value: (t) => data.texts[t[2]], text: (t) => data.texts[t[2]] },
    { title: "To", long: true, value: (t) => data.texts[t[3]], text: (t) => data.texts[t[3]] },
    { title: "Test", value: (t) => t[1], text: (t) => data.tests[t[1]] },
    { title: "Family", value: (t) => t[0], text: (t) => data.families[t[0]] },
    { title: "State", value: (t) => -t[4], text: (t) => t[4] ? "FAILING" : "reached", bad: (t) => t[4] },
    { title: "Latency", number: true, value: (t) => t[4] ? 0 : t[5], text: (t) => milliseconds(t[4] ? 0 : t[5]) },
    { title: "Lost", number: true, value: (t) => t[7] ? t[6] / t[7] : 0, text: (t) => share(t[6], t[7]) },
    { title: "Fails for", number: true, value: (t) => t[9], text: (t) => age(t[9]) },
    { title: "Note", long: true, value: (t) => t[8], text: (t) => [t[8] >= 0 ? data.texts[t[8]] : "", t[10] ? "packets of full size do not arrive" : ""].filter(Boolean).join("; ") },
  ], (t) => t[4] === 1, [
    { name: "Family", values: data.families, of: (t) => t[0] },
    { name: "Test", values: data.tests, of: (t) => t[1] },
  ]);
})();
