package simulator

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// object is a JSON object.
type object map[string]any

// Outcomes of a message, for [Options.Outcomes].
const (
	Delivered = "delivered"
	Failed    = "failed"
	Silent    = "silent"  // delivered, and never reported
	Refused   = "refused" // in the answer
)

// Message is a message at the gateway.
type Message struct {
	ID   string `json:"id"`
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`

	key, callback, state string
	serial               int
}

// vendor holds the differences of one vendor from the others.
type vendor struct {
	send, status string // paths
	logs         string // path of questions; empty: it cannot be asked
	// read reads a dispatch, and reports whether its credentials are right.
	read func(secret string, r *http.Request, body []byte) (m Message, authorized bool)
	// allowed reports whether any other request has the right credentials.
	allowed      func(secret string, r *http.Request) bool
	unauthorized answer
	refused      func(reason string) answer
	accepted     func(m *Message) answer
	up           object
	report       func(m *Message, state string) object
	found        func(m *Message, state string) object
	states       map[string]string // waiting, Delivered and Failed in the vendor's words
}

// answer is a status with a document.
type answer struct {
	status int
	body   object
}

// waiting is the state of a message before it is Delivered or Failed.
const waiting = "waiting"

func vendors() map[string]vendor {
	return map[string]vendor{"vonage": vonage(), "infobip": infobip(), "africastalking": africasTalking(), "telegram": telegram()}
}

func vonage() vendor {
	// Vonage answers 200 to everything; the verdict is in the status of each message.
	verdict := func(fields object) answer {
		return answer{http.StatusOK, object{"message-count": "1", "messages": []object{fields}}}
	}
	return vendor{
		send: "/sms/json", status: "/account/get-balance",
		read: func(secret string, _ *http.Request, body []byte) (Message, bool) {
			f, _ := url.ParseQuery(string(body))
			return Message{To: f.Get("to"), Text: f.Get("text"), From: f.Get("from"), key: f.Get("client-ref"), callback: f.Get("callback")}, f.Get("api_secret") == secret
		},
		allowed:      func(secret string, r *http.Request) bool { return r.URL.Query().Get("api_secret") == secret },
		unauthorized: verdict(object{"status": "4", "error-text": "Bad Credentials"}),
		accepted: func(m *Message) answer {
			return verdict(object{"to": m.To, "message-id": m.ID, "status": "0", "remaining-balance": "3.14", "message-price": "0.03", "network": "12345"})
		},
		refused: func(reason string) answer {
			if reason == "" {
				return verdict(object{"status": "2", "error-text": "Missing to param"})
			}
			return verdict(object{"status": "7", "error-text": "Number barred"})
		},
		up: object{"value": 3.14, "autoReload": false},
		report: func(m *Message, state string) object {
			return object{"msisdn": m.To, "to": m.From, "messageId": m.ID, "status": state, "err-code": "0", "client-ref": m.key, "message-timestamp": "2026-01-01 12:00:00"}
		},
		states: map[string]string{waiting: "accepted", Delivered: "delivered", Failed: "failed"},
	}
}

func infobip() vendor {
	allowed := func(secret string, r *http.Request) bool { return r.Header.Get("Authorization") == "App "+secret }
	states := map[string]string{waiting: "PENDING_ENROUTE", Delivered: "DELIVERED_TO_HANDSET", Failed: "UNDELIVERABLE_NOT_DELIVERED"}
	status := func(name string) object {
		group, _, _ := strings.Cut(name, "_")
		return object{"groupId": map[string]int{"PENDING": 1, "UNDELIVERABLE": 2, "DELIVERED": 3}[group], "groupName": group, "name": name}
	}
	message := func(m *Message, name string) object {
		return object{"to": m.To, "messageId": m.ID, "callbackData": m.key, "status": status(name), "error": object{"permanent": false}}
	}
	fault := func(code int, id string) answer {
		return answer{code, object{"requestError": object{"serviceException": object{"messageId": id, "text": id}}}}
	}
	return vendor{
		send: "/sms/3/messages", status: "/account/1/balance", logs: "/sms/3/logs",
		read: func(secret string, r *http.Request, body []byte) (Message, bool) {
			var in struct {
				Messages []struct {
					Sender       string
					Destinations []struct{ To, MessageID string }
					Content      struct{ Text string }
					Webhooks     struct {
						Delivery     struct{ URL string }
						CallbackData string
					}
				}
			}
			if json.Unmarshal(body, &in) != nil || len(in.Messages) != 1 || len(in.Messages[0].Destinations) != 1 {
				return Message{}, allowed(secret, r)
			}
			m, to := in.Messages[0], in.Messages[0].Destinations[0]
			// Infobip takes the client's own id, so that a lost answer can be asked about.
			return Message{ID: to.MessageID, From: m.Sender, To: to.To, Text: m.Content.Text, key: m.Webhooks.CallbackData, callback: m.Webhooks.Delivery.URL}, allowed(secret, r)
		},
		allowed: allowed, unauthorized: fault(http.StatusUnauthorized, "UNAUTHORIZED"), states: states,
		accepted: func(m *Message) answer {
			return answer{http.StatusOK, object{"bulkId": "b", "messages": []object{{"destination": m.To, "messageId": m.ID, "status": status("PENDING_ACCEPTED")}}}}
		},
		refused: func(string) answer { return fault(http.StatusBadRequest, "BAD_REQUEST") },
		up:      object{"balance": 47.79, "currency": "EUR"},
		report:  func(m *Message, state string) object { return object{"results": []object{message(m, state)}} },
		found:   message,
	}
}

func africasTalking() vendor {
	// The verdict is that of a recipient; the status is 201 for a refused one, too.
	verdict := func(fields object) answer {
		return answer{http.StatusCreated, object{"SMSMessageData": object{"Message": "Sent to 1/1", "Recipients": []object{fields}}}}
	}
	allowed := func(secret string, r *http.Request) bool { return r.Header.Get("Apikey") == secret }
	return vendor{
		send: "/version1/messaging", status: "/version1/user",
		read: func(secret string, r *http.Request, body []byte) (Message, bool) {
			f, _ := url.ParseQuery(string(body))
			return Message{To: f.Get("to"), Text: f.Get("message"), From: f.Get("from")}, allowed(secret, r)
		},
		allowed: allowed, unauthorized: answer{http.StatusUnauthorized, object{"errorMessage": "The supplied authentication is invalid"}},
		accepted: func(m *Message) answer {
			return verdict(object{"statusCode": 101, "number": m.To, "status": "Success", "cost": "KES 0.8000", "messageId": m.ID})
		},
		refused: func(string) answer {
			return verdict(object{"statusCode": 403, "number": "", "status": "InvalidPhoneNumber", "cost": "0", "messageId": "None"})
		},
		up: object{"UserData": object{"balance": "KES 1785.50"}},
	}
}

func telegram() vendor {
	fault := func(code int, text string) answer {
		return answer{code, object{"ok": false, "error_code": code, "description": text}}
	}
	allowed := func(secret string, r *http.Request) bool {
		// The token is in the path, where proxies log it: Telegram has no other place.
		return strings.HasPrefix(r.URL.Path, "/bot"+secret+"/")
	}
	return vendor{
		send: "/sendMessage", status: "/getMe",
		read: func(secret string, r *http.Request, body []byte) (Message, bool) {
			var in struct {
				ChatID json.Number `json:"chat_id"`
				Text   string
			}
			_ = json.Unmarshal(body, &in)
			return Message{To: in.ChatID.String(), Text: in.Text}, allowed(secret, r)
		},
		allowed: allowed, unauthorized: fault(http.StatusUnauthorized, "Unauthorized"),
		accepted: func(m *Message) answer {
			return answer{http.StatusOK, object{"ok": true, "result": object{"message_id": m.serial, "text": m.Text}}}
		},
		refused: func(reason string) answer {
			if reason == "" {
				return fault(http.StatusBadRequest, "Bad Request: message text is empty")
			}
			return fault(http.StatusForbidden, "Forbidden: bot was blocked by the user")
		},
		up: object{"ok": true, "result": object{"is_bot": true}},
	}
}
