package contacts

import "weir"

// EncodeContent is how the content of a contact is kept.
func EncodeContent(spec *weir.Spec) (string, error) { return encodeContent(spec) }

// DecodeContent gives its messages.
func DecodeContent(text string) ([]string, error) {
	body, err := decodeContent(text)
	return body.Messages, err
}

// Record is a record of contacts_in_flight.
type Record struct {
	Ref      weir.Ref
	Progress weir.Progress
}

// EncodeRecords returns a row of contacts_in_flight.
func EncodeRecords(list []Record) []byte {
	data := []byte{recordVersion}
	for _, r := range list {
		data = appendRecord(data, &record{r.Ref, r.Progress})
	}
	return data
}

// DecodeRecords reads one.
func DecodeRecords(data []byte) ([]Record, error) {
	found, err := decodeRecords(data)
	var list []Record
	for _, r := range found {
		list = append(list, Record{r.ref, r.progress})
	}
	return list, err
}

// EncodeWaiting and DecodeWaiting are the progress of a contact that waits.
func EncodeWaiting(p weir.Progress) []byte { return encodeWaiting(&p) }

// DecodeWaiting reads one.
func DecodeWaiting(data []byte) (weir.Progress, error) { return decodeProgress(data) }

// Kept returns a progress as the store returns it.
func Kept(p weir.Progress) weir.Progress { return kept(p) }

// Known returns how many contacts in flight of a channel memory has.
func (s *Store) Known(channel weir.ChannelID) int { return len(s.Reader.flights.list(channel)) }
