// A search field above the claims of a paper; without scripts all are there.
document.addEventListener("DOMContentLoaded", () => {
  const claims = [...document.querySelectorAll(".claims ~ section")];
  if (!claims.length) return;
  const form = Object.assign(document.createElement("form"), { className: "filters" });
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "claims");
  form.addEventListener("submit", (event) => event.preventDefault());
  const words = Object.assign(document.createElement("input"), { type: "search", id: "claim-words" });
  const label = document.createElement("label");
  label.append("words, a verdict among them", words);
  const count = Object.assign(document.createElement("output"), { id: "claim-count" });
  form.append(label, count);
  claims[0].before(form);
  const said = new Map(claims.map((claim) => [claim, claim.textContent.toLowerCase()])); // before buttons are there
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/);
    for (const claim of claims) {
      claim.hidden = !wanted.every((word) => said.get(claim).includes(word));
    }
    count.textContent = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} claims`;
  };
  words.addEventListener("input", filter);
  filter();
});

// A search field and two filters above the table of claims; without scripts the table is whole.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.claim-table");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const text = (row, column) => row.cells[column].textContent.trim();
  const paper = (row) => text(row, 0).split("/")[0];
  const verdict = (row) => text(row, 2);
  const form = document.createElement("form");
  form.className = "filters";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "claims");
  form.addEventListener("submit", (event) => event.preventDefault());
  const add = (label, element) => {
    const holder = document.createElement("label");
    holder.append(label, element);
    form.append(holder);
    element.addEventListener("input", filter);
    return element;
  };
  const choices = (kind) => {
    const select = document.createElement("select");
    for (const name of ["all", ...new Set(rows.map(kind).sort())]) select.add(new Option(name));
    return select;
  };
  const words = add("words", Object.assign(document.createElement("input"), { type: "search", id: "claim-words" }));
  const papers = add("paper", Object.assign(choices(paper), { id: "claim-paper" }));
  const verdicts = add("verdict", Object.assign(choices(verdict), { id: "claim-verdict" }));
  const count = document.createElement("output");
  count.id = "claim-count";
  form.append(count);
  (table.closest(".table-wrapper") || table).before(form);
  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const said = row.textContent.toLowerCase();
      row.hidden =
        !wanted.every((word) => said.includes(word)) ||
        (papers.value !== "all" && paper(row) !== papers.value) ||
        (verdicts.value !== "all" && verdict(row) !== verdicts.value);
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims`;
  }
  filter();
});
