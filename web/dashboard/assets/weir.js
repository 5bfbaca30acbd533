// Enhances pages that work without it: questions become dialogs, times become
// local, and live regions are updated while the page is visible.
(function () {
  "use strict";

  var dialog = document.getElementById("dialog");
  var opener = null; // id of what opened the dialog

  function close() {
    if (dialog && dialog.open) dialog.close();
  }

  // Times arrive in UTC and are shown in the browser's zone, unless the reader chose UTC; labels of charts too.
  // So are the inputs of filters; the server gets UTC.
  var local = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  var zone = local;
  try { if (localStorage.getItem("weir-zone") === "UTC") zone = "UTC"; } catch (e) { /* no storage: local */ }

  // Formatters are slow to create, and a page has hundreds of times.
  var day = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  var named = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" });
  var hour = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });

  function formatted(at) {
    return day.format(at) + " " + named.formatToParts(at).find(function (p) { return p.type === "timeZoneName"; }).value;
  }

  function localize(root) {
    if (zone === "UTC") return;
    root.querySelectorAll("time[datetime]").forEach(function (t) {
      var at = new Date(t.getAttribute("datetime"));
      if (/ UTC$/.test(t.textContent)) t.textContent = formatted(at);
      if (/ UTC$/.test(t.title)) t.title = formatted(at);
    });
    root.querySelectorAll("text[data-at]").forEach(function (t) { t.textContent = hour.format(new Date(t.dataset.at)); });
  }
  localize(document);

  // Without this script, the inputs of filters are in UTC.
  function localInputs() {
    if (zone === "UTC") return;
    document.querySelectorAll("label .zone").forEach(function (s) { s.textContent = zone; });
    document.querySelectorAll("input[type=datetime-local]").forEach(function (input) {
      var at = new Date(input.value + "Z");
      if (input.value && !isNaN(at)) input.value = day.format(at).slice(0, 16).replace(" ", "T");
    });
    document.addEventListener("formdata", function (e) {
      e.target.querySelectorAll("input[type=datetime-local]").forEach(function (input) {
        var at = new Date(input.value);
        if (input.value && !isNaN(at)) e.formData.set(input.name, at.toISOString().slice(0, 16));
      });
    });
  }
  localInputs();

  var other = document.getElementById("zone");
  if (other && local !== "UTC") {
    other.textContent = other.dataset.words + " " + (zone === "UTC" ? local : "UTC");
    other.hidden = false;
    other.addEventListener("click", function () {
      try { localStorage.setItem("weir-zone", zone === "UTC" ? "local" : "UTC"); } catch (e) { return; }
      window.location.reload();
    });
  }

  // Questions: a link with data-dialog opens its page in the dialog.
  function ask(link) {
    fetch(link.href, { headers: { "Weir-Fragment": "1" } }).then(function (res) {
      if (res.status === 401) return window.location.reload(); // the session has ended: the page leads to the log-in
      return res.text().then(function (html) { // an error is shown in the dialog, too
        opener = link.id;
        dialog.innerHTML = html;
        localize(dialog);
        if (!dialog.open) dialog.showModal();
        var first = dialog.querySelector("input:not([type=hidden]), select, button");
        if (first) first.focus();
      });
    }).catch(function () { window.location.href = link.href; }); // the browser reports the failure
  }
  document.addEventListener("click", function (e) {
    var a = e.target.closest ? e.target.closest("a[data-dialog]") : null;
    if (!a || !dialog || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return; // a new tab, for example
    e.preventDefault();
    ask(a);
  });
  document.addEventListener("click", function (e) {
    if (dialog && e.target === dialog) return close(); // outside the dialog
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

  // A form with data-stay is sent without leaving the page, so that secrets that were typed, which
  // the server does not send back, stay while its answer is shown.
  function stay(form, button) {
    var data = new URLSearchParams(new FormData(form));
    if (button && button.name) data.set(button.name, button.value);
    var typed = [];
    form.querySelectorAll("input[type=password]").forEach(function (i) { typed.push([i.id, i.value]); });
    form.setAttribute("aria-busy", "true");
    fetch(form.action, { method: "POST", body: data, headers: { "Weir-Fragment": "1" } }).then(function (res) {
      if (res.status === 401) throw res; // the session has ended: a plain submit keeps what was typed over the log-in
      if (res.redirected) return window.location.assign(res.url);
      return res.text().then(function (html) {
        var main = document.getElementById("main");
        var page = document.createElement("div");
        page.innerHTML = html;
        Array.prototype.slice.call(main.children).forEach(function (part) {
          if (!part.matches(".crumbs, #flash, .flash")) part.remove();
        });
        document.getElementById("flash").replaceChildren();
        while (page.firstChild) main.appendChild(page.firstChild);
        typed.forEach(function (t) {
          var input = t[1] && document.getElementById(t[0]);
          if (input) input.value = t[1];
        });
        main.querySelectorAll(".again").forEach(function (note) { note.remove(); });
        localize(main);
        var next = main.querySelector("[aria-invalid]") || document.getElementById("outcome") || main;
        next.focus();
      });
    }).catch(function () { // the browser reports the failure
      form.removeAttribute("data-stay");
      form.requestSubmit(button);
    });
  }
  document.addEventListener("submit", function (e) {
    if (!e.target.hasAttribute("data-stay") || !window.URLSearchParams || !e.target.requestSubmit) return;
    e.preventDefault();
    if (e.target.getAttribute("aria-busy")) return; // its answer is on its way
    stay(e.target, e.submitter);
  });

  // "/" leads to the search box, unless the reader is typing.
  document.addEventListener("keydown", function (e) {
    var box = document.getElementById("search-all");
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || !box || dialog && dialog.open) return;
    if (e.target.closest && e.target.closest("input:not([type=checkbox]), select, textarea")) return;
    e.preventDefault();
    box.focus();
    box.select();
  });

  // The texts of a questionnaire are counted by the server while one types: it alone knows what is sent with each.
  var counting = null, counts = 0;
  function count(form) {
    var data = new URLSearchParams(new FormData(form));
    data.set("do", "count");
    data.delete("say");
    var mine = ++counts;
    fetch(form.action, { method: "POST", body: data, headers: { "Weir-Fragment": "1" } }).then(function (res) {
      return res.ok ? res.text() : "";
    }).then(function (html) {
      if (mine !== counts) return; // something was typed since
      var page = document.createElement("div");
      page.innerHTML = html;
      page.querySelectorAll(".sizes").forEach(function (fresh) {
        var shown = document.getElementById(fresh.id);
        if (!shown) return;
        shown.hidden = fresh.hidden;
        shown.innerHTML = fresh.innerHTML;
      });
    }).catch(function () { /* the next letter counts again */ });
  }
  document.addEventListener("input", function (e) {
    var form = e.target.closest && e.target.closest("form.writing");
    if (!form || e.target.id === "say" || !window.URLSearchParams) return;
    clearTimeout(counting);
    counting = setTimeout(count, 500, form);
  });

  // A box that selects all rows of a table, which needs this script.
  function showAll(root) {
    var all = root.querySelector("#select-all");
    if (all) all.hidden = false;
  }
  showAll(document);
  document.addEventListener("change", function (e) {
    if (e.target.id !== "select-all") return;
    document.querySelectorAll("input[name=contact]").forEach(function (box) { box.checked = e.target.checked; });
  });

  // Uploads: only the beginning of a large file is sent for the preview, and the next form gets the whole file. A workbook
  // cannot be read from its beginning.
  var head = 256 * 1024;
  document.addEventListener("submit", function (e) {
    var form = e.target;
    var input = form.matches("form[data-upload]") && form.querySelector("input[type=file]");
    var file = input && input.files[0];
    if (!file || file.size <= head || /\.xls[xm]$/i.test(file.name) || !window.DataTransfer) return;
    e.preventDefault();
    var data = new FormData(form);
    data.delete("file");
    data.append("partial", "1");
    data.append("file", file.slice(0, head), file.name); // the last one, as in the form
    fetch(form.action, { method: "POST", body: data, headers: { "Weir-Fragment": "1" } }).then(function (res) {
      if (res.status === 401) return window.location.reload();
      return res.text().then(function (html) {
        var old = form.closest("section");
        var page = document.createElement("div");
        page.innerHTML = html;
        var next = page.querySelector("section");
        if (!old || !next) return form.submit();
        old.replaceWith(next);
        var again = next.querySelector("input[type=file]");
        if (again) {
          var kept = new DataTransfer();
          kept.items.add(file);
          again.files = kept.files;
        }
        var title = next.querySelector("h1");
        title.tabIndex = -1;
        title.focus();
      });
    }).catch(function () { form.submit(); });
  });

  // A form that takes long shows that it is on its way.
  document.addEventListener("submit", function (e) {
    var note = e.target.querySelector("[data-progress]");
    if (note && !e.defaultPrevented) note.hidden = false;
  });

  // The week of a survey's form is painted by dragging, and with Shift and the arrow keys. Each box works
  // without: a click that dragged nothing toggles its box as always.
  var painting = null; // the box where it began, what it paints, whether the pointer left it
  function hourBox(e) { return e.target.matches && e.target.matches(".paint input") ? e.target : null; }
  document.addEventListener("pointerdown", function (e) {
    var box = hourBox(e);
    if (!box || e.button !== 0 || e.pointerType === "touch") return; // a touch scrolls
    var all = Array.prototype.slice.call(box.closest(".paint").querySelectorAll("input"));
    painting = { box: box, paint: !box.checked, left: false, all: all, was: all.map(function (b) { return b.checked; }) };
  });
  document.addEventListener("pointerover", function (e) {
    var box = hourBox(e);
    if (!painting || !box || box === painting.box && !painting.left) return;
    painting.left = true;
    // The rectangle between the two boxes is painted, and what left it is as it was.
    var a = painting.all.indexOf(painting.box), b = painting.all.indexOf(box);
    function between(x, from, to) { return x >= Math.min(from, to) && x <= Math.max(from, to); }
    painting.all.forEach(function (one, i) {
      var inside = between(i % 24, a % 24, b % 24) && between(Math.floor(i / 24), Math.floor(a / 24), Math.floor(b / 24));
      one.checked = inside ? painting.paint : painting.was[i];
    });
  });
  document.addEventListener("click", function (e) {
    if (painting && painting.left && hourBox(e) === painting.box) e.preventDefault();
    painting = null;
  });
  document.addEventListener("pointerup", function () { setTimeout(function () { painting = null; }); }); // after the click
  document.addEventListener("keydown", function (e) {
    var step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -24, ArrowDown: 24 }[e.key];
    var box = hourBox(e);
    if (!step || !box) return;
    e.preventDefault();
    var all = Array.prototype.slice.call(box.closest(".paint").querySelectorAll("input"));
    var next = all[all.indexOf(box) + step];
    if (!next) return;
    if (e.shiftKey) next.checked = box.checked;
    next.focus();
  });

  // The heads of the week paint, too: an hour on all days that have hours, and a day with the hours of another.
  Array.prototype.forEach.call(document.querySelectorAll(".paint"), function (table) {
    var days = Array.prototype.map.call(table.tBodies[0].rows, function (row) { return Array.prototype.slice.call(row.querySelectorAll("input")); });
    function has(day) { return day.some(function (box) { return box.checked; }); }
    function paintsBy(head, title, paint) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.title = title;
      button.addEventListener("click", paint);
      head.textContent = "";
      head.appendChild(button);
    }
    Array.prototype.forEach.call(table.tHead.querySelectorAll("th"), function (head, hour) {
      paintsBy(head, table.dataset.hour, function () {
        var those = days.filter(has);
        if (!those.length) those = days;
        var on = those.some(function (day) { return !day[hour].checked; });
        those.forEach(function (day) { day[hour].checked = on; });
      });
    });
    Array.prototype.forEach.call(table.tBodies[0].querySelectorAll("th"), function (head, n) {
      paintsBy(head, table.dataset.day, function () {
        var model = days.filter(function (day, i) { return i !== n && has(day); })[0];
        var on = !has(days[n]);
        days[n].forEach(function (box, hour) { box.checked = on && (model ? model[hour].checked : hour >= 9 && hour < 18); });
      });
    });

    function uneven() {
      var those = days.filter(has);
      return those.some(function (day) { return day.some(function (box, hour) { return box.checked !== those[0][hour].checked; }); });
    }
    var note = document.getElementById("week-uneven");
    ["change", "click", "pointerup", "keyup"].forEach(function (what) {
      document.addEventListener(what, function () { note.hidden = !uneven(); });
    });

    // Who changes between painting and entering times takes the hours along, as far as both can say them.
    var named = document.querySelectorAll("input[name=weekdays]"), times = document.querySelectorAll(".as-times [role=group]");
    function clock(hour) { return ("0" + hour % 24).slice(-2) + ":00"; }
    // hoursOfTimes calls back with each box and whether the times have its whole hour.
    function hoursOfTimes(each) {
      var windows = Array.prototype.map.call(times, function (group) {
        return Array.prototype.map.call(group.querySelectorAll("input"), function (end, n) {
          var parts = end.value.split(":"), minutes = parts[0] * 60 + +parts[1];
          return n && minutes === 0 ? 1440 : minutes;
        });
      });
      days.forEach(function (day, n) {
        day.forEach(function (box, hour) {
          each(box, named[n].checked && windows.some(function (w) { return w[0] <= hour * 60 && hour * 60 + 60 <= w[1]; }));
        });
      });
    }
    function intoTimes() {
      var those = days.filter(has), runs = [], same = true;
      hoursOfTimes(function (box, is) { same = same && box.checked === is; });
      if (same || !those.length || uneven()) return; // times to the minute stay if nothing was painted meanwhile
      those[0].forEach(function (box, hour) {
        if (!box.checked) return;
        if (hour && those[0][hour - 1].checked) runs[runs.length - 1].to = clock(hour + 1);
        else runs.push({ from: clock(hour), to: clock(hour + 1) });
      });
      if (runs.length > times.length) return;
      named.forEach(function (box, n) { box.checked = has(days[n]); });
      times.forEach(function (group, n) {
        var ends = group.querySelectorAll("input");
        ends[0].value = runs[n] ? runs[n].from : "";
        ends[1].value = runs[n] ? runs[n].to : "";
      });
    }
    function intoWeek() { hoursOfTimes(function (box, is) { box.checked = is; }); }
    document.getElementById("as-times").addEventListener("change", intoTimes);
    document.getElementById("as-week").addEventListener("change", intoWeek);
  });

  // On a phone the pages are in one line, which begins with the present one.
  var present = document.querySelector("header nav a[aria-current]");
  if (present) present.closest("ul").scrollLeft = present.offsetLeft - 16;

  // Time zones are offered by name, the reader's own first.
  Array.prototype.forEach.call(document.querySelectorAll("input[data-zones]"), function (input) {
    if (!Intl.supportedValuesOf) return;
    var list = document.createElement("datalist");
    list.id = input.id + "-zones";
    Intl.supportedValuesOf("timeZone").forEach(function (zone) { list.appendChild(document.createElement("option")).value = zone; });
    input.after(list);
    input.setAttribute("list", list.id);
    if (input.dataset.zones === "own" && !input.value) input.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  });

  // The desk's sound for an offer. Browsers play none before the reader has done something on the site.
  var audio = null;
  var sound = document.getElementById("sound");
  function offers() {
    return Array.prototype.map.call(document.querySelectorAll("[id^=accept-]"), function (b) { return b.id; });
  }
  var offered = offers();

  function playing() { return audio !== null && audio.state === "running"; }

  function labelSound() {
    sound.textContent = playing() ? sound.dataset.on : sound.dataset.off;
    sound.setAttribute("aria-pressed", String(playing()));
  }

  function tone(pitch, after) {
    var at = audio.currentTime + after;
    var wave = audio.createOscillator();
    var volume = audio.createGain();
    wave.frequency.value = pitch;
    volume.gain.setValueAtTime(0.0001, at);
    volume.gain.exponentialRampToValueAtTime(0.2, at + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + 0.25);
    wave.connect(volume).connect(audio.destination);
    wave.start(at);
    wave.stop(at + 0.26);
  }

  function ring() {
    tone(660, 0);
    tone(880, 0.2);
  }

  function startSound(then) {
    if (!audio) {
      audio = new AudioContext();
      audio.addEventListener("statechange", labelSound);
    }
    audio.resume().then(then || function () {}, function () {});
  }

  // announce rings if there is an offer that was not there before.
  function announce() {
    var now = offers();
    var fresh = now.some(function (id) { return offered.indexOf(id) < 0; });
    offered = now;
    if (fresh && playing()) ring();
  }

  if (sound && window.AudioContext) {
    sound.hidden = false;
    try { if (localStorage.getItem("weir-sound") === "on") startSound(); } catch (e) { /* no storage: off */ }
    sound.addEventListener("click", function () {
      var on = !playing();
      try { localStorage.setItem("weir-sound", on ? "on" : "off"); } catch (e) { /* it is off on the next page */ }
      if (on) startSound(ring); // so that the reader knows it
      else audio.suspend();
    });
    labelSound();
  }

  // Live regions.
  var from = document.body.dataset.stream;
  var status = document.getElementById("connection");
  if (!from || !window.EventSource) return;
  var source = null;
  var again = 0;

  function report(text, state) {
    if (!status || status.dataset.state === state) return;
    status.dataset.state = state;
    status.textContent = text;
  }

  function replace(id, html) {
    var place = document.getElementById(id);
    if (!place) return;
    var at = document.activeElement;
    if (at && place.contains(at) && at.type !== "checkbox" && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) return; // the reader is typing there
    var checked = [];
    place.querySelectorAll("input[type=checkbox]:checked").forEach(function (box) { checked.push(box.id); });
    var open = [];
    place.querySelectorAll("details[open]").forEach(function (d) {
      open.push(d.id || Array.prototype.indexOf.call(place.querySelectorAll("details"), d));
    });
    var focused = at && place.contains(at) ? at : null;
    var stops = "a[href], button, input, summary, [tabindex]";
    var nth = focused ? Array.prototype.indexOf.call(place.querySelectorAll(stops), focused) : -1; // for those without an id
    var left = {};
    place.querySelectorAll(".scroll").forEach(function (s, i) { left[i] = [s.scrollLeft, s.scrollTop]; });
    place.innerHTML = html;
    localize(place);
    showAll(place);
    if (sound) announce();
    var titled = place.querySelector("[data-title]");
    if (titled) document.title = titled.dataset.title;
    checked.forEach(function (id) {
      var box = document.getElementById(id);
      if (box) box.checked = true;
    });
    open.forEach(function (key) {
      var d = typeof key === "number" ? place.querySelectorAll("details")[key] : document.getElementById(key);
      if (d) d.open = true;
    });
    place.querySelectorAll(".scroll").forEach(function (s, i) { if (left[i]) { s.scrollLeft = left[i][0]; s.scrollTop = left[i][1]; } });
    if (!focused) return;
    var back = focused.id ? document.getElementById(focused.id) : place.querySelectorAll(stops)[nth];
    if (back && back.tagName === focused.tagName) back.focus({ preventScroll: true });
  }

  // Hidden pages are not updated, except those whose title says what happens.
  function resting() { return document.hidden && !document.querySelector("main [data-title]"); }

  function listen() {
    clearTimeout(again);
    if (source || resting()) return;
    source = new EventSource(from);
    source.addEventListener("part", function (e) {
      var cut = e.data.indexOf("\n");
      replace(cut < 0 ? e.data : e.data.slice(0, cut), cut < 0 ? "" : e.data.slice(cut + 1));
      report(status && status.dataset.live, "live");
    });
    source.addEventListener("trouble", function (e) { report(e.data, "trouble"); });
    source.addEventListener("end", function () {
      if (Date.now() - sent < 10000) return; // the answer to a form is on its way, such as the removal of what this page shows
      stop();
      window.location.reload();
    });
    source.onerror = function () {
      report(status && status.dataset.broken, "trouble");
      if (source && source.readyState === EventSource.CLOSED) { // refused: the browser does not retry
        stop();
        again = setTimeout(listen, 10000);
      }
    };
  }

  var sent = 0; // when a form was
  document.addEventListener("submit", function (e) { if (!e.defaultPrevented) sent = Date.now(); });

  function stop() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", function () {
    if (resting()) {
      stop();
      clearTimeout(again);
      report(status && status.dataset.paused, "paused");
    } else {
      listen();
    }
  });
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", function (e) { if (e.persisted) listen(); });
  listen();
})();
