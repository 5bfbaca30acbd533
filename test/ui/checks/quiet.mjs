// Console lines, requests, addresses, titles and logs of the whole run: no errors,
// secrets or numbers.
import assert from "node:assert/strict";

const few = (list) => [...new Set(list)].slice(0, 10).join("\n");

export async function quiet({ report, browser, weir, others, secrets, operator }) {
  const secret = [...Object.values(secrets), operator.token, "canarywrongtoken"];
  const leaks = (text) => secret.some((s) => text.includes(s)) || /canary[0-9a-f]{6}/.test(text) || /1555010\d{4}/.test(text);
  await report.check("quiet: no page broke its policy or had an error", null, () => assert.equal(browser.complaints.length, 0, few(browser.complaints)));
  await report.check("quiet: no page asked another host", null, () => assert.equal(browser.strangers.size, 0, few(browser.strangers)));
  await report.check("quiet: no address holds a secret or a number", null, () => {
    assert.ok(browser.addresses.size > 50);
    assert.equal(few([...browser.addresses].filter((a) => leaks(decodeURIComponent(a)))), "");
  });
  await report.check("quiet: no title holds a secret or a number", null, () => {
    assert.ok(browser.titles.size > 15);
    assert.equal(few([...browser.titles].filter(leaks)), "");
  });
  await report.check("quiet: no line of a console holds a secret or a number", null, () => assert.equal(few(browser.said.filter(leaks)), ""));
  await report.check("quiet: no line of Weir's log holds a secret or a number", null, () => {
    const lines = [weir, ...others].flatMap((w) => w.log().split("\n"));
    assert.ok(lines.length > 200, "there is a log");
    assert.equal(few(lines.filter(leaks)), "");
  });
}
