// Package docs holds the documents that the dashboard serves under /help, for people who have a browser and no terminal. What is only for
// whoever installs Weir, writes a program or changes Weir needs a terminal or the repository in any case, and stays there.
package docs

import "embed"

//go:embed surveys.md questions.md workers.md contacts.md consent.md limits.md providers.md operations.md access.md webhooks.md job-router.md acd-and-fifo.md glossary.md
var files embed.FS

// Files returns the documents, each as NAME.md.
func Files() embed.FS { return files }

// Order lists the names of the documents in the order in which they are offered: first what most people come for.
func Order() []string {
	return []string{
		"surveys", "questions", "workers", "contacts", "consent", "limits", "providers", "operations", "access", "webhooks", "job-router", "acd-and-fifo", "glossary",
	}
}
