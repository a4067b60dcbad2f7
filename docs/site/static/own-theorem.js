// A reader's theorem: searched, and judged by the kernel.
document.addEventListener("DOMContentLoaded", () => {
  const { make, badge, problem, count } = clusterproof;
  const place = document.querySelector("#own-theorem");
  if (!place) return;
  const file = place.querySelector("pre").textContent.trimEnd() + "\n";
  const area = make("textarea", { id: "own-theorem-file", value: file, spellcheck: false, autocapitalize: "off", autocomplete: "off" });
  const out = make("div", { className: "in-browser" });
  const halt = make("button", { type: "button", hidden: true }, "Stop");
  halt.addEventListener("click", () => clusterproof.stop("You stopped the search."));
  const buttons = clusterproof.buttons(out, ["Is it true?", ask]);
  buttons.append(halt);
  place.replaceChildren(make("p", {}, make("label", { htmlFor: area.id }, "The file with your theorem"), area), buttons, out);

  async function ask() {
    if (!(await clusterproof.ready(out))) return;
    halt.hidden = false;
    out.replaceChildren(make("p", {}, "Searching …"));
    try {
      await show(await clusterproof.ask("own", area.value));
    } finally { halt.hidden = true; }
  }
  async function show(said) {
    if (said.refused) return out.replaceChildren(problem(said.refused));
    const inside = said.verdict === "open" ? [] : [make("p", { className: "said", role: "status" }, badge(said.verdict), " says the kernel.")];
    const panels = [];
    for (const about of said.about) {
      const broken = said.records.filter((record) => record.statement === about.statement && record.instance);
      for (const record of broken) {
        const where = Object.entries(record.instance).map(([name, value]) => `${name} = ${value}`).join(", ");
        const found = about.simplest ? `the simplest of ${count(about.tried, "instance")} that were tried, simple ones first` : `found among ${count(about.tried, "instance")}, and made simpler where possible`;
        const panel = make("div", { className: "sides" });
        inside.push(make("p", {}, record.line ? make("strong", {}, `${record.line}: `) : "", `broken at ${where}; ${found}.`), panel);
        panels.push([panel, record]);
        if (record.line === "") break;
      }
      const open = said.lines.filter((line) => line.statement === about.statement && line.verdict === "open");
      if (open.length) inside.push(...unproved(about, open));
    }
    out.replaceChildren(...inside, ...clusterproof.evidence(said, said.records, said.text));
    for (const [panel, record] of panels) {
      const looked = await clusterproof.ask("look", said.text, record.statement, record.instance);
      looked.lines = looked.lines.filter((line) => line.name === record.line);
      await clusterproof.draw(panel, looked, said.text, record.statement, record.instance);
    }
  }
  function unproved(about, open) {
    const names = open.map((line) => line.line).filter(Boolean).join(", ");
    const some = about.met < about.tried ? ` ${about.met} of these meet the hypotheses.` : "";
    const out = [make("p", { className: "said", role: "status" }, names ? make("strong", {}, `${names}: `) : "", about.met ? `not refuted on ${count(about.tried, "instance")}.${some} ` : `nothing was tried: none of ${count(about.tried, "instance")} meets the hypotheses. `,
      "Install Clusterproof to search further: ", make("code", {}, "clusterproof check my_paper.py"))];
    if (about.why) out.push(problem(`At some instances the function has no value: ${about.why}`));
    return out;
  }
});
