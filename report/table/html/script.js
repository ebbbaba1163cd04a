"use strict";
// Sorting by column and folding of trees. Without it the page is complete.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  rows.forEach((row, i) => { row.dataset.place = i; });
  const key = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    return cell.classList.contains("l") ? cell.textContent.trim() : -Infinity; // a number that is not known
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const next = was === null ? "descending" : was === "descending" ? "ascending" : null;
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      rows.sort((a, b) => {
        const x = key(a, column), y = key(b, column), place = a.dataset.place - b.dataset.place;
        if (!next) return place;
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) || place;
      });
      body.append(...rows);
    });
  });
}
for (const table of document.querySelectorAll("table.foldable")) {
  const rows = [...table.tBodies[0].rows];
  const inside = (at) => {
    const list = [];
    for (let i = at + 1; i < rows.length && Number(rows[i].dataset.level) > Number(rows[at].dataset.level); i++) list.push(rows[i]);
    return list;
  };
  rows.forEach((row, at) => {
    const space = row.querySelector(".unfolded"), inner = inside(at);
    if (!space || inner.length === 0) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    const show = (open) => {
      button.textContent = open ? "▾" : "▸";
      button.setAttribute("aria-expanded", String(open));
      button.setAttribute("aria-label", (open ? "fold " : "unfold ") + row.querySelector(".name").textContent);
    };
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      show(open);
      row.toggleAttribute("data-folded", !open);
      let level = Infinity;
      for (const r of inner) {
        const own = Number(r.dataset.level);
        if (own <= level) level = Infinity;
        r.hidden = !open || level < Infinity;
        if (r.hasAttribute("data-folded") && own < level) level = own;
      }
    });
    show(true);
    space.replaceWith(button);
  });
}
const opened = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", opened);
opened();
