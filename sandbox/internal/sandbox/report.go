package sandbox

// Report is what a ready sandbox says of itself, in one line of JSON. Its
// fields are a contract: programs in other languages read it.
type Report struct {
	// Dir holds kubeconfigs and logs; `down --dir` takes it.
	Dir string `json:"dir"`
	// PID is the process that holds everything together.
	PID int `json:"pid"`
	// KubernetesVersion is what the seed's API server reports.
	KubernetesVersion string `json:"kubernetesVersion"`
	// MemoryMiB is the memory of all processes, measured when all was ready.
	MemoryMiB int `json:"memoryMiB"`
	// Kubectl is a kubectl of the same version.
	Kubectl string  `json:"kubectl"`
	Seed    Seed    `json:"seed"`
	Shoots  []Shoot `json:"shoots"`
}

// Seed is the cluster that is garden and seed together.
type Seed struct {
	Server string `json:"server"`
	// Kubeconfig is the path of an admin's.
	Kubeconfig string `json:"kubeconfig"`
	// Users are the paths of the users' kubeconfigs by the users' names.
	Users map[string]string `json:"users"`
}

// Shoot is one shoot cluster.
type Shoot struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Server    string `json:"server"`
	// Kubeconfig is the path of an admin's.
	Kubeconfig string `json:"kubeconfig"`
	Nodes      int    `json:"nodes"`
}
