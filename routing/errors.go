package routing

import "weir"

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
