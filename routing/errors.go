package routing

import (
	"fmt"

	"weir"
)

// Details of refusals, in the Code of a [weir.FieldError]. The first three are
// names that clients of the API know.
const (
	QueueUsesDistribution   = "QueueExistsWithDistributionPolicy"
	QueueUsesException      = "QueueExistsWithExceptionPolicy"
	JobUsesClassification   = "ActiveJobWithClassificationPolicyExist"
	JobInQueue              = "ActiveJobWithQueue"
	WorkerOnQueue           = "WorkerAssignedToQueue"
	ClassificationFallsBack = "ClassificationPolicyWithFallbackQueue"
	OfferTaken              = "OfferTaken" // another worker accepted the job
)

func notFound(kind, id string) error {
	return weir.Errorf(weir.CodeNotFound, "there is no %s %q", kind, id)
}

func conflict(format string, args ...any) error {
	return weir.Errorf(weir.CodeConflict, format, args...)
}

// mistakes collects the validation errors of a specification.
type mistakes []weir.FieldError

func (m *mistakes) add(pointer, code, format string, args ...any) {
	if len(*m) < weir.MaxMistakes {
		*m = append(*m, weir.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
}

func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "one or more validation errors occurred", Fields: m}
}

// refused returns an error for a resource that is in use.
func refused(code weir.Code, details mistakes) error {
	return &weir.Error{Code: code, Message: "it is in use", Fields: details}
}
