// Both sides of a claim where a reader chooses: a slider and a field for each quantity.
(() => {
  const { make, badge, button, problem, count } = clusterproof;
  const STEPS = 60;

  // ---- fractions as texts
  const parts = (text) => { const [above, below = "1"] = String(text).split("/"); return [BigInt(above), BigInt(below)]; };
  const ratio = (text) => { const [above, below] = parts(text); return Number(above) / Number(below); };
  const between = (low, high, place) => { // low + place / STEPS (high - low)
    const [a, b] = parts(low), [c, d] = parts(high), n = BigInt(STEPS);
    const above = a * d * (n - BigInt(place)) + c * b * BigInt(place), below = b * d * n;
    const gcd = (x, y) => (y ? gcd(y, x % y) : x < 0n ? -x : x);
    const by = gcd(above, below) || 1n;
    return below === by ? String(above / by) : `${above / by}/${below / by}`;
  };
  const written = (value) => (Array.isArray(value) ? value.join(", ") : String(value));

  clusterproof.explore = async (id, box) => {
    const { text, records } = await clusterproof.claim(id);
    if (!(await clusterproof.ready(box))) return;
    const found = await clusterproof.ask("describe", text);
    const able = found.filter((each) => each.quantities.every((one) => one.kind !== "class"));
    if (!able.length) return box.replaceChildren(make("p", {}, "This claim is about every function of a class. There is no slider for a function. If the evidence contains a worst function, the page shows it."));
    const pick = make("select", {}, ...able.map((each) => new Option(each.name || "the statement", each.name)));
    const panel = make("div");
    const show = () => sliders(panel, text, able.find((each) => each.name === pick.value), records);
    pick.addEventListener("input", show);
    box.replaceChildren(...(able.length > 1 ? [make("p", {}, make("label", {}, "part of the claim ", pick))] : []), panel);
    await show();
  };

  async function sliders(panel, text, statement, records) {
    // a counterexample, else a simple instance that meets the hypotheses, else one of the evidence
    const own = records.filter((record) => record.statement === statement.name);
    const values = { ...own.find((record) => record.instance)?.instance };
    if (!own.some((record) => record.instance)) Object.assign(values, own.find((record) => record.witness)?.witness, await clusterproof.ask("start", text, statement.name));
    const fields = {}, out = make("div", { className: "sides" });
    const inputs = statement.quantities.map((quantity) => {
      const { name, kind, options } = quantity;
      const typed = kind === "choice"
        ? make("select", {}, ...options.map((each) => new Option(String(each), JSON.stringify(each))))
        : make("input", { type: "text", spellcheck: false, autocomplete: "off" });
      typed.addEventListener("change", () => { values[name] = kind === "choice" ? JSON.parse(typed.value) : typed.value.trim(); refresh(); });
      const slider = kind === "integer" || kind === "rational" ? make("input", { type: "range", "aria-label": `${name.replace(/_$/, "")}, slider` }) : "";
      if (slider) slider.addEventListener("input", () => {
        const { low, high } = fields[name].ends;
        typed.value = values[name] = kind === "integer" ? Number(slider.value) : between(low, high, slider.value);
        refresh();
      });
      fields[name] = { kind, typed, slider };
      return make("div", { className: "quantity" }, make("label", {}, make("span", {}, name.replace(/_$/, "")), typed), slider);
    });
    const search = button("Search for me", async () => {
      const said = await clusterproof.ask("search", text);
      const one = said.records?.find((record) => record.statement === statement.name && record.instance);
      const about = said.about?.find((each) => each.statement === statement.name);
      search.nextElementSibling.textContent = said.refused ?? (one ? "" : `The search found no counterexample in ${count(about.tried, "instance")}.`);
      if (one) { Object.assign(values, one.instance); await refresh(); }
    });
    panel.replaceChildren(make("div", { className: "quantities" }, ...inputs), make("p", {}, search, " ", make("span", { role: "status" })), out);

    function place(name, field) {
      const { kind, typed, slider } = fields[name];
      fields[name].ends = field;
      values[name] = field.value;
      typed.value = kind === "choice" ? JSON.stringify(field.value) : written(field.value);
      if (!slider) return;
      const whole = kind === "integer", { low, high, closed, value } = field;
      slider.min = whole ? low : 0;
      slider.max = whole ? Math.max(high, value) : STEPS;
      slider.value = whole ? value : Math.round(((ratio(value) - ratio(low)) / (ratio(high) - ratio(low) || 1)) * STEPS);
      slider.setAttribute("aria-valuetext", value);
      typed.title = closed.every(Boolean) ? `${low} to ${high}` : closed[0] ? `${low} or more` : closed[1] ? `${high} or less` : "every number";
    }
    let busy = false, later = false;
    async function refresh() {
      if (busy) return void (later = true);
      busy = true;
      try {
        const said = await clusterproof.ask("look", text, statement.name, values);
        for (const [name, field] of Object.entries(said.fields)) place(name, field);
        await draw(out, said, text, statement.name, values);
      } finally { busy = false; }
      if (later) { later = false; await refresh(); }
    }
    return refresh();
  }

  // Hypotheses, and both sides of each line, and the kernel's verdict where one is broken.
  const draw = clusterproof.draw = async (out, said, text, statement, values) => {
    const inside = said.hypotheses.length ? [make("ul", { className: "hypotheses" }, ...said.hypotheses.map(([words, met]) =>
      make("li", {}, make("strong", {}, met ? "✓ met: " : "✗ not met: "), words)))] : [];
    if (!said.met) inside.push(make("p", {}, "This instance does not meet a hypothesis, so the claim does not apply to it."));
    if (said.error) inside.push(problem(said.error));
    for (const line of said.lines) {
      if (line.name) inside.push(make("p", { className: "line" }, make("strong", {}, line.name)));
      if (line.excluded !== undefined) { inside.push(make("p", {}, `This line does not apply to this instance, which does not meet the hypothesis: ${line.excluded}.`)); continue; }
      for (const row of line.rows.slice(0, 6)) inside.push(...bars(row, line.sign, line.broken && said.met));
      if (line.rows.length > 6) inside.push(make("p", {}, `... and ${line.rows.length - 6} more entries`));
    }
    const broken = said.met && said.lines.find((line) => line.broken);
    const status = make("p", { className: "said", role: "status" });
    if (broken) {
      const judged = await clusterproof.ask("verdict", text, [{ statement, line: broken.name, rule: "instance", instance: values }]);
      const word = judged.lines.find((line) => line.statement === statement && line.line === broken.name).verdict;
      status.append(make("strong", {}, "This instance breaks the line. "), "The kernel confirms this instance: ", badge(word));
    } else if (said.lines.length && said.met) status.append(make("strong", {}, "Holds here."));
    out.replaceChildren(...inside, status);
  };

  const SIGNS = { "<=": "≤", ">=": "≥", "=": "=" };
  function bars(row, sign, broken) {
    const near = (each) => each.near ?? Math.sign(parseFloat(each.decimal)) * 1e300;
    const numbers = [near(row.left), near(row.right), 0], low = Math.min(...numbers), width = Math.max(...numbers) - low || 1;
    const part = (from, to, kind) => make("span", { className: `bar ${kind}`, style: `left:${(100 * (Math.min(from, to) - low)) / width}%;width:${(100 * Math.abs(to - from)) / width}%` });
    const track = (...inside) => make("div", { className: "track", "aria-hidden": "true" }, ...inside);
    const number = (each) => make("span", { className: "number" }, make("b", {}, each.decimal), each.exact === each.decimal || !each.exact ? "" : ` = ${short(each.exact)}`);
    const side = (what, each) => make("p", { className: "side" }, make("span", {}, what), number(each));
    const several = row.terms.length > 1 && row.terms.every((each) => near(each) >= 0);
    let so_far = 0;
    const stacked = several ? row.terms.map((each, place) => part(so_far, (so_far += near(each)), `shade-${place % 3}`)) : [part(0, near(row.right), "shade-0")];
    const name = row.terms.length === 1 && row.terms[0].name !== "bound" ? row.terms[0].name : "right side";
    const key = (each, place) => make("span", { className: "term" }, several ? make("span", { className: `key shade-${place % 3}` }) : "", `${each.name} ${each.decimal}`);
    const terms = row.terms.length > 1 ? [make("p", { className: "terms" }, ...row.terms.flatMap((each, place) => [place ? " + " : "= ", key(each, place)]))] : [];
    return [side("left side", row.left), track(part(0, near(row.left), broken ? "left broken" : "left")), side(`${SIGNS[sign]} ${name}`, row.right), track(...stacked), ...terms];
  }
  const short = (text) => (text.length < 46 ? text : `a fraction of ${text.length - 1} digits`);
})();
