#!/bin/bash
# Checks the subjects of the commits that are newer than this script:
# "area: imperative phrase", at most 72 characters.
set -euo pipefail
cd "$(dirname "$0")/.."

since=$(git log --diff-filter=A --format=%H -- scripts/check-commits.sh | tail -1)
[ -n "$since" ] || exit 0 # not committed yet
git log --no-merges --format='%h %s' "$since..HEAD" | awk '
	{ commit = $1; sub(/^[^ ]+ /, "") }
	length($0) > 72 { print commit ": the subject has " length($0) " characters, and may have 72: " $0; bad = 1 }
	!/^[a-z0-9][a-z0-9_\/., -]*: [^ ]/ { print commit ": the subject is not \"area: imperative phrase\": " $0; bad = 1 }
	END { exit bad }
' || { echo "scripts/check-commits.sh: reword with git rebase -i" >&2; exit 1; }
