package jobrouter

// version is a value of the parameter api-version.
type version string

const (
	version2023 version = "2023-11-01"
	version2024 version = "2024-01-18-preview"
)

func versions() []version { return []version{version2023, version2024} }

// supported is the value of the header api-supported-versions.
const supported = string(version2023) + ", " + string(version2024)
