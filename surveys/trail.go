package surveys

// Trail follows respondents through the entries of a log, of which few have the disposition and the
// mode. Zero, it is before the first entry.
type Trail struct {
	Respondent  RespondentID
	Disposition Disposition
	Mode        Mode // in which the respondent was last contacted; empty: not yet
}

// Shows reports whether a [Trail] depends on an entry.
func (e *LogEntry) Shows() bool { return e.Event == LogEnqueued || e.To != "" }

// Next takes the next entry of a log in the order of the respondents and ids, and reports whether the
// disposition changed. The log has no entry for the change to [Queued]: it is the first contact.
func (t *Trail) Next(e *LogEntry) (changed bool) {
	if e.Respondent != t.Respondent {
		*t = Trail{Respondent: e.Respondent, Disposition: Registered}
	}
	was := t.Disposition
	switch {
	case e.Event == LogEnqueued:
		t.Mode, t.Disposition = e.Mode, was.Advance(Queued)
	case e.To != "":
		t.Disposition = e.To
	}
	return t.Disposition != was
}
