package ops

import (
	"context"

	"weir"
)

// RoleLeaser decides which process has a role that only one may have at a time:
// the survey broker, the router, the delivery of events. Leases of roles carry
// no channel. The store's clock measures expiry.
type RoleLeaser interface {
	// AcquireRole takes a role if it is free, expired or ours. Each success
	// raises the epoch by one. ok is false while another process has it.
	AcquireRole(ctx context.Context, role Role) (_ weir.Lease, ok bool, err error)
	// RenewRole extends it; ok is false if it is no longer ours.
	RenewRole(ctx context.Context, role Role, l weir.Lease) (ok bool, err error)
	// ReleaseRole gives it up. One that is no longer ours is left alone.
	ReleaseRole(ctx context.Context, role Role, l weir.Lease) error
}

// Role is the name of a role.
type Role string

// The roles.
const (
	RoleSurveyBroker  Role = "surveys"
	RoleRouter        Role = "router"
	RoleEventDelivery Role = "delivery"
)
