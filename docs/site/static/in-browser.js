// Python and the kernel in a worker, for pages that check proofs; nothing is loaded before a reader asks for it.
const clusterproof = (() => {
  const here = new URL("../in-browser/", document.currentScript.src).href;
  const own = { engine: {}, claims: {}, pieces: 0 };

  // ---- pieces of a page
  own.make = (tag, more = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(more)) name in made ? (made[name] = value) : made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  own.badge = (word) => own.make("span", { className: `verdict verdict-${word}` }, word);
  own.problem = (...words) => own.make("p", { className: "problem" }, ...words);
  own.count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  own.button = (words, act) => {
    const made = own.make("button", { type: "button" }, words);
    made.addEventListener("click", async () => { // a button that is disabled would lose the keyboard's focus
      if (made.ariaDisabled === "true") return;
      made.ariaDisabled = "true";
      try { await act(made); } finally { made.ariaDisabled = "false"; }
    });
    return made;
  };

  // ---- the worker
  const script = (name) =>
    new Promise((done, failed) => {
      const made = own.make("script", { src: here + name });
      made.onload = done;
      made.onerror = () => { made.remove(); failed(new Error(`${name} cannot be loaded`)); };
      document.head.append(made);
    });
  let worker, begun, asked = 0, waiting = {};
  const post = (message) =>
    new Promise((done, failed) => {
      waiting[++asked] = { done, failed };
      worker.postMessage({ number: asked, ...message });
    });
  async function begin(tell) {
    const begin = performance.now();
    tell("Loading Python", 0);
    if (!own.pieces) await script("start.js");
    let loaded = 0;
    const names = Array.from({ length: own.pieces }, (_, place) => `engine-${place}.js`);
    if (!own.loaded) await Promise.all(names.map(async (name) => { await script(name); tell("Loading Python", ++loaded / (own.pieces + 2)); }));
    own.loaded = true;
    tell("Starting Python", (own.pieces + 1) / (own.pieces + 2));
    const engine = { info: own.info };
    for (const [name, parts] of Object.entries(own.engine)) engine[name] = parts.join("");
    worker = new Worker(URL.createObjectURL(new Blob([own.worker], { type: "text/javascript" })));
    worker.onmessage = ({ data: { number, answer, memory } }) => {
      own.memory = memory ?? own.memory;
      waiting[number]?.done(answer);
      delete waiting[number];
    };
    worker.onerror = (event) => own.stop(event.message || "the worker does not start");
    const said = await post({ load: { engine, files: own.files } });
    if (said.refused) throw new Error(said.refused);
    own.python = said.python;
    own.started = performance.now() - begin;
  }
  own.stop = (why = "stopped") => {
    worker?.terminate();
    worker = begun = undefined;
    for (const each of Object.values(waiting)) each.failed(new Error(why));
    waiting = {};
  };
  own.ask = (...question) => post({ question });

  // Start Python, show its progress in the box, and return whether it runs.
  own.ready = async (box) => {
    const bar = own.make("progress", { max: 1, value: 0, "aria-label": "loading" });
    const words = own.make("span", {}, "Loading Python");
    box.replaceChildren(own.make("p", { className: "loading" }, bar, " ", words));
    try {
      await (begun ??= begin((said, part) => { words.textContent = `${said} …`; bar.value = part; }));
    } catch (error) {
      begun = undefined;
      box.replaceChildren(own.problem(`Python does not start in this browser: ${error.message}. After you have installed Clusterproof, `, own.make("code", {}, "clusterproof check --replay"), " does the same."));
      return false;
    }
    box.replaceChildren();
    return true;
  };
  own.claim = async (id) => {
    if (!own.claims[id]) await script(`claims-${id.split("/")[0]}.js`);
    return own.claims[id];
  };

  // ---- a verdict
  const RULES = {
    instance: "an instance that breaks it", exhausted: "every instance was evaluated", signs: "no coefficient is negative",
    squares: "sums of squares", induction: "induction over the rounds", dual: "multipliers", family: "multipliers for every value",
    empty: "no instance meets the hypotheses",
  };
  own.lineName = (line) => [line.statement, line.line].filter(Boolean).join(": ") || "the statement";
  own.evidence = (said, records, text) => {
    const rule = (line) => RULES[records.find((each) => each.statement === line.statement && each.line === line.line)?.rule];
    const block = (words) => own.make("pre", { tabIndex: 0 }, words);
    const shown = said.lines.filter((line) => line.verdict !== "open");
    return [
      own.make("ul", {}, ...shown.map((line) => own.make("li", {}, own.badge(line.verdict), ` ${own.lineName(line)}: ${rule(line)}`))),
      own.make("details", {}, own.make("summary", {}, "The text that the kernel read"), block(text), own.make("p", {}, own.make("small", {}, `SHA-256 of this text: ${said.digest}`)),
        own.make("p", {}, "Its evidence:"), block(JSON.stringify(records, null, 1).slice(0, 20000))),
    ];
  };

  // ---- a claim's proof, replayed
  async function check(id, box) {
    const { text, records, lines } = await own.claim(id);
    if (!(await own.ready(box))) return;
    box.replaceChildren(own.make("p", {}, `Replaying the evidence of ${own.count(records.length, "line")} …`));
    const start = performance.now();
    const said = await own.ask("verdict", text, records);
    const seconds = ((performance.now() - start) / 1000).toFixed(2);
    if (said.refused) return box.replaceChildren(own.problem("The kernel rejects the text: ", said.refused));
    const named = said.lines.map((line) => [[line.statement, line.line].filter(Boolean).join(": "), line.verdict]);
    const others = named.filter(([name, word]) => word !== (lines[name].shown ? lines[name].verdict : "open"));
    const open = named.filter(([, word]) => word === "open");
    const proved = named.length - open.length;
    const badge = said.verdict === "open" ? [] : [own.badge(said.verdict), " "];
    const whole = proved === named.length ? "" : `It decides ${proved} of ${own.count(named.length, "line")}. `;
    const out = [own.make("p", { className: "said", role: "status" }, ...badge, `The kernel replayed the evidence in this browser (${seconds} s, Python ${own.python}). `, whole,
      others.length ? "" : proved === 1 || said.verdict !== "open" ? "The stored verdict is the same." : "The stored verdicts are the same.")];
    for (const [name, word] of others) out.push(own.problem(`${name || "the statement"}: the kernel says ${word} here, and ${lines[name].verdict} is recorded.`));
    for (const why of said.why.filter(Boolean)) out.push(own.problem(why));
    if (open.length) out.push(own.make("p", {}, "The kernel has no evidence for the other lines. An earlier search stored these verdicts:"),
      own.make("ul", {}, ...open.map(([name]) => own.make("li", {}, own.badge(lines[name].verdict), ` ${name || "the statement"}: ${lines[name].reason}`))));
    box.replaceChildren(...out, ...own.evidence(said, records, text));
  }

  own.buttons = (box, ...several) => own.make("p", { className: "in-browser-buttons" }, ...several.flatMap(([words, act]) => [
    own.button(words, async () => {
      try { await act(box); } catch (error) { box.replaceChildren(own.problem(error.message)); }
    }), " "]));
  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll("[data-claim]")) {
      const id = place.dataset.claim, box = own.make("div", { className: "in-browser" });
      const proof = place.dataset.records === "0" ? [] : [["Check this proof in your browser", () => check(id, box)]];
      place.append(own.buttons(box, ...proof, ["Try to break it", () => own.explore(id, box)]), box);
    }
  });
  return own;
})();
