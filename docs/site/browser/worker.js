// Python and the kernel in a worker, which gets all data as strings and fetches nothing.
const bytes = (coded) =>
  Uint8Array.fromBase64 ? Uint8Array.fromBase64(coded) : Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
const inflate = (coded) => new Blob([bytes(coded)]).stream().pipeThrough(new DecompressionStream("gzip"));
const address = async (coded, type) =>
  URL.createObjectURL(new Blob([await new Response(inflate(coded)).arrayBuffer()], { type }));

// Only a classic worker starts from file://. Pyodide recognises one by this function, and refuses to run there.
self.importScripts = () => { throw new Error("no script is imported"); };

let answer;

async function load({ engine, files }) {
  const [loader, module, library] = await Promise.all([
    address(engine.loader, "text/javascript"),
    address(engine.module, "text/javascript"),
    address(engine.library, "application/zip"),
  ]);
  const fetched = self.fetch;
  self.fetch = (asked, options) =>
    String(asked.url ?? asked).endsWith(".wasm")
      ? Promise.resolve(new Response(inflate(engine.wasm), { headers: { "content-type": "application/wasm" } }))
      : fetched(asked, options);
  const { loadPyodide } = await import(loader);
  const python = await loadPyodide({
    indexURL: "https://nothing.invalid/",
    stdLibURL: library,
    createPyodideModule: (await import(module)).default,
    lockFileContents: { info: engine.info, packages: {} },
  });
  for (const [name, text] of Object.entries(files)) {
    python.FS.mkdirTree(`/files/${name.replace(/\/[^/]*$/, "")}`);
    python.FS.writeFile(`/files/${name}`, text);
  }
  python.runPython("import sys; sys.path.insert(0, '/files'); sys.dont_write_bytecode = True");
  answer = python.pyimport("docs.site.browser.answers").answer;
  return { python: python.runPython("sys.version.split()[0]"), memory: () => python._module.HEAP8.length };
}

let memory = () => 0;
self.onmessage = async ({ data: { number, load: parts, question } }) => {
  try {
    if (parts) {
      const loaded = await load(parts);
      memory = loaded.memory;
      self.postMessage({ number, answer: { python: loaded.python } });
    } else self.postMessage({ number, answer: JSON.parse(answer(JSON.stringify(question))), memory: memory() });
  } catch (error) {
    self.postMessage({ number, answer: { refused: String(error).trim().split("\n").at(-1) } });
  }
};
