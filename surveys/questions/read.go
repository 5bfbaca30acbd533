package questions

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"weir"
	"weir/internal/validation"
)

// Read reads a definition in JSON. It refuses what a definition does not have, keys that stand twice
// in an object, and definitions of more than [MaxSize].
func Read(raw []byte) (Definition, []weir.FieldError) {
	var m validation.Errors
	if len(raw) > MaxSize {
		m.Add("", "length", "a questionnaire has at most %d bytes", MaxSize)
		return Definition{}, m
	}
	// The decoder ignores case.
	if at, key, err := validation.Duplicate(raw, strings.ToLower); err != nil {
		m.Add("", "format", "is no JSON: %v", err)
		return Definition{}, m
	} else if key != "" {
		m.Add(at, "duplicate", "%q stands twice in the object", validation.Clip(key))
		return Definition{}, m
	}
	var whole struct {
		Definition
		Questions []json.RawMessage `json:"questions"` // read one by one, so that mistakes have a place
	}
	readPart(raw, &whole, "", &m)
	d := whole.Definition
	if len(whole.Questions) > MaxQuestions {
		m.Add("/questions", "length", "a questionnaire has at most %d questions", MaxQuestions)
		return Definition{}, m
	}
	for i, one := range whole.Questions {
		var question struct {
			Question
			Choices []json.RawMessage `json:"choices"`
		}
		at := "/questions/" + strconv.Itoa(i)
		readPart(one, &question, at, &m)
		for j, c := range question.Choices {
			var choice Choice
			readPart(c, &choice, at+"/choices/"+strconv.Itoa(j), &m)
			question.Question.Choices = append(question.Question.Choices, choice)
		}
		d.Questions = append(d.Questions, question.Question)
	}
	if len(m) > 0 {
		return Definition{}, m
	}
	return d, nil
}

// readPart reads a part of a definition.
func readPart(raw []byte, into any, at string, m *validation.Errors) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &wrongType):
		for _, key := range strings.Split(wrongType.Field, ".") {
			if key != "" && key != "Definition" && key != "Question" { // embedded
				at += "/" + validation.Token(key)
			}
		}
		m.Add(at, "type", "must not be of type %s", wrongType.Value)
	default:
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			if key, err := strconv.Unquote(name); err == nil {
				m.Add(at+"/"+validation.Token(key), "unknown", "is not known here")
				return
			}
		}
		m.Add(at, "format", "%v", err)
	}
}
