package provider

import (
	"bytes"
	"net/url"
	"strconv"
	"time"

	"weir/cmd/weirlab/bench/judge"
)

// notQuestion is the number of a message that asks nothing, such as the thanks at the end.
const notQuestion = -1

// asked records a question: a contact of its own, which took from the answer to the question before until now. It returns
// the number of the contact; 0: it is none of the run.
func (s *server) asked(run Run, channel *judge.Channel, text []byte, now, at time.Time) int {
	first, rest, _ := bytes.Cut(text, []byte(" "))
	second, _, _ := bytes.Cut(rest, []byte(" "))
	person, err := strconv.Atoi(string(first))
	question, err2 := strconv.Atoi(string(second))
	if err != nil || err2 != nil {
		return notQuestion
	}
	id := 0
	if person > 0 && question > 0 && question <= run.Questions {
		id = (person-1)*run.Questions + question
	}
	took := time.Duration(-1)
	if question > 1 {
		s.mu.Lock()
		said, known := s.said[person]
		s.mu.Unlock()
		if took = now.Sub(said); !known {
			id = 0 // it was asked before its turn
		}
	}
	s.record.Took(channel, id, took, now, at)
	return id
}

// answers notes that a person sends the answer to a question, by the number of its contact.
func (s *server) answers(id int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.Questions > 0 && id > 0 {
		s.said[(id-1)/s.run.Questions+1] = now
	}
}

// appendAnswer writes the request with a person's answer, in Nuntium's form.
func (p *report) appendAnswer(out []byte) []byte {
	body := url.Values{"from": {p.from}, "body": {"7"}, "guid": {p.guid}, "channel": {p.channel.Name}}.Encode()
	out = append(append(append(out, "POST "...), p.target.path...), " HTTP/1.1\r\nHost: "...)
	out = append(append(out, p.target.host...), "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "...)
	return append(append(strconv.AppendInt(out, int64(len(body)), 10), "\r\n\r\n"...), body...)
}
