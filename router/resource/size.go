package resource

import "weir/router/label"

// Fixed parts of entries in memory, in bytes.
const (
	labelSize    = 64
	selectorSize = 128
	noteSize     = 48
)

// Size estimates the memory that a job's specification uses, in bytes.
func (j *JobSpec) Size() int {
	n := len(j.ChannelID) + len(j.ChannelReference) + len(j.QueueID) + len(j.ClassificationPolicyID) + len(j.DispositionCode) +
		SelectorsSize(j.RequestedWorkerSelectors) + labelsSize(j.Labels) + labelsSize(j.Tags)
	for i := range j.Notes {
		n += noteSize + len(j.Notes[i].Message)
	}
	return n
}

func labelsSize(l label.Set) (n int) {
	for k, v := range l {
		text, _ := v.Text()
		n += labelSize + len(k) + len(text)
	}
	return n
}

// SelectorsSize estimates the memory that selectors use, in bytes.
func SelectorsSize(list []WorkerSelector) (n int) {
	for i := range list {
		text, _ := list[i].Value.Text()
		n += selectorSize + len(list[i].Key) + len(text)
	}
	return n
}
