// What the dashboard does in a browser beside links and forms, all of which
// work without it: questions become dialogs, and live regions are kept up to
// date while somebody can see them.
(function () {
  "use strict";

  var dialog = document.getElementById("dialog");
  var opener = null; // id of what opened the dialog

  function close() {
    if (dialog && dialog.open) dialog.close();
  }

  // Times. Pages have them in UTC; here they become those of the browser's zone, unless the reader prefers UTC.
  // Charts get the same clock. Inputs of filters stay in UTC, as their labels say.
  var local = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  var zone = local;
  try { if (localStorage.getItem("weir-zone") === "UTC") zone = "UTC"; } catch (e) { /* no storage: local */ }

  // Formatters are slow to make, and pages have hundreds of times.
  var day = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  var named = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" });
  var hour = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });

  function written(at) {
    return day.format(at) + " " + named.formatToParts(at).find(function (p) { return p.type === "timeZoneName"; }).value;
  }

  function localize(root) {
    if (zone === "UTC") return;
    root.querySelectorAll("time[datetime]").forEach(function (t) {
      var at = new Date(t.getAttribute("datetime"));
      if (/ UTC$/.test(t.textContent)) t.textContent = written(at);
      if (/ UTC$/.test(t.title)) t.title = written(at);
    });
    root.querySelectorAll("text[data-at]").forEach(function (t) { t.textContent = hour.format(new Date(t.dataset.at)); });
  }
  localize(document);

  var other = document.getElementById("zone");
  if (other && local !== "UTC") {
    other.textContent = "Times in " + (zone === "UTC" ? local : "UTC");
    other.hidden = false;
    other.addEventListener("click", function () {
      try { localStorage.setItem("weir-zone", zone === "UTC" ? "local" : "UTC"); } catch (e) { return; }
      window.location.reload();
    });
  }

  // Questions.
  document.addEventListener("htmx:beforeRequest", function (e) {
    if (e.detail.target === dialog && e.detail.elt) opener = e.detail.elt.id;
  });
  document.addEventListener("htmx:beforeSwap", function (e) {
    if (e.detail.target === dialog) {
      e.detail.shouldSwap = true; // a refusal is shown as such, too
      e.detail.isError = false;
    }
  });
  document.addEventListener("htmx:afterSwap", function (e) {
    if (e.detail.target !== dialog) return;
    localize(dialog);
    if (!dialog.open) dialog.showModal();
    var first = dialog.querySelector("input:not([type=hidden]), select, button");
    if (first) first.focus();
  });
  document.addEventListener("click", function (e) {
    if (dialog && e.target === dialog) return close(); // beside it
    var a = e.target.closest ? e.target.closest("[data-close]") : null;
    if (a && dialog && dialog.contains(a)) {
      e.preventDefault();
      close();
    }
  });
  if (dialog) {
    dialog.addEventListener("close", function () {
      dialog.replaceChildren();
      var back = opener && document.getElementById(opener);
      if (back) back.focus();
    });
  }

  // Live regions.
  var from = document.body.dataset.stream;
  var sign = document.getElementById("connection");
  if (!from || !window.EventSource) return;
  var source = null;
  var again = 0;

  function say(text, state) {
    if (!sign || sign.dataset.state === state) return;
    sign.dataset.state = state;
    sign.textContent = text;
  }

  function replace(id, html) {
    var place = document.getElementById(id);
    if (!place) return;
    var at = document.activeElement;
    if (at && place.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) return; // somebody is writing there
    var open = [];
    place.querySelectorAll("details[open]").forEach(function (d) {
      open.push(d.id || Array.prototype.indexOf.call(place.querySelectorAll("details"), d));
    });
    var focused = at && place.contains(at) ? at : null;
    var stops = "a[href], button, summary, [tabindex]";
    var nth = focused ? Array.prototype.indexOf.call(place.querySelectorAll(stops), focused) : -1; // for those without an id
    var left = {};
    place.querySelectorAll(".scroll").forEach(function (s, i) { left[i] = [s.scrollLeft, s.scrollTop]; });
    place.innerHTML = html;
    localize(place);
    open.forEach(function (key) {
      var d = typeof key === "number" ? place.querySelectorAll("details")[key] : document.getElementById(key);
      if (d) d.open = true;
    });
    place.querySelectorAll(".scroll").forEach(function (s, i) { if (left[i]) { s.scrollLeft = left[i][0]; s.scrollTop = left[i][1]; } });
    if (window.htmx) window.htmx.process(place);
    if (!focused) return;
    var back = focused.id ? document.getElementById(focused.id) : place.querySelectorAll(stops)[nth];
    if (back && back.tagName === focused.tagName) back.focus({ preventScroll: true });
  }

  function listen() {
    clearTimeout(again);
    if (source || document.hidden) return;
    source = new EventSource(from);
    source.addEventListener("part", function (e) {
      var cut = e.data.indexOf("\n");
      replace(cut < 0 ? e.data : e.data.slice(0, cut), cut < 0 ? "" : e.data.slice(cut + 1));
      say("live", "live");
    });
    source.addEventListener("trouble", function (e) { say(e.data, "trouble"); });
    source.addEventListener("end", function () {
      stop();
      window.location.reload();
    });
    source.onerror = function () {
      say("no connection", "trouble");
      if (source && source.readyState === EventSource.CLOSED) { // refused: the browser does not try again
        stop();
        again = setTimeout(listen, 10000);
      }
    };
  }

  function stop() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", function () {
    if (document.hidden) {
      stop();
      clearTimeout(again);
      say("paused", "paused");
    } else {
      listen();
    }
  });
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", function (e) { if (e.persisted) listen(); });
  listen();
})();
