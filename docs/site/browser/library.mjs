// node library.mjs PYODIDE OUT.zip < {"files": ..., "questions": ...}
// Answer questions in Pyodide, and write the imported modules of the standard library, compiled.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , folder, out] = process.argv;
const { files, questions } = JSON.parse(readFileSync(0, "utf8"));
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${folder}/` });
for (const [name, text] of Object.entries(files)) {
  python.FS.mkdirTree(`/files/${name.replace(/\/[^/]*$/, "")}`);
  python.FS.writeFile(`/files/${name}`, text);
}
python.FS.writeFile("/stdlib.zip", readFileSync(`${folder}/python_stdlib.zip`));
python.globals.set("questions", python.toPy(questions.map((each) => JSON.stringify(each))));
python.runPython(`
import importlib._bootstrap_external as loading, importlib.util, sys, zipfile
sys.path.insert(0, "/files")
sys.dont_write_bytecode = True
from docs.site.browser.answers import answer
for question in questions:
    answer(question)
try:
    1 / 0
except ZeroDivisionError:
    import traceback
    traceback.format_exc()
whole = zipfile.ZipFile("/stdlib.zip")
home = next(path for path in sys.path if path.endswith(".zip")) + "/"
origins = (str(getattr(module.__spec__, "origin", "")) for module in [*sys.modules.values()] if getattr(module, "__spec__", None))
used = {origin[len(home):] for origin in origins if origin.startswith(home)}
used |= {f"encodings/{name}.py" for name in ("ascii", "latin_1", "cp437", "utf_8_sig")} & {*whole.namelist()}
with zipfile.ZipFile("/library.zip", "w") as made:
    for name in sorted(used):
        data = whole.read(name)
        code = compile(data, home + name, "exec", dont_inherit=True)
        compiled = loading._code_to_hash_pyc(code, importlib.util.source_hash(data), False)
        made.writestr(zipfile.ZipInfo(name + "c"), bytes(compiled))
`);
writeFileSync(out, python.FS.readFile("/library.zip"));
