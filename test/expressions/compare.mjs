// Evaluates the expressions of a table with the engine of Enketo, and compares: see
// scripts/compare-expressions.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { JSDOM } from 'jsdom';

const { window } = new JSDOM('<root/>', { contentType: 'application/xml' });
Object.assign(globalThis, { window, document: window.document });
for (const name of ['Node', 'XPathResult', 'XPathEvaluator', 'DOMParser', 'XMLSerializer', 'Element']) {
  globalThis[name] = window[name];
}
const Evaluator = createRequire(import.meta.url)('openrosa-xpath-evaluator');
const evaluator = new Evaluator();

function valueOf(expression) {
  const r = evaluator.evaluate(expression, window.document.documentElement, null, window.XPathResult.ANY_TYPE);
  switch (r.resultType) {
    case window.XPathResult.NUMBER_TYPE: return String(r.numberValue);
    case window.XPathResult.BOOLEAN_TYPE: return String(r.booleanValue);
    case window.XPathResult.STRING_TYPE: return r.stringValue;
    default: return 'error';
  }
}

let passed = 0;
let failed = 0;
for (const line of readFileSync(process.argv[2], 'utf8').split('\n')) {
  if (line === '' || line.startsWith('#')) continue;
  const [expression, ours, theirs] = line.split('\t');
  const want = theirs ?? ours;
  let got;
  try {
    got = valueOf(expression);
  } catch {
    got = 'error';
  }
  if (got === want) {
    passed++;
  } else {
    failed++;
    console.log(`${expression}: ${JSON.stringify(got)}, the table has ${JSON.stringify(want)}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
