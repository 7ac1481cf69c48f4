import Coherence

/// The changes by merges, in records.
package struct Changes: Sendable, Equatable {
  package var inserted = 0
  package var updated = 0
  package var unchanged = 0
  package var deleted = 0

  static func += (changes: inout Changes, result: MergeResult) {
    changes.inserted += result.inserted
    changes.updated += result.updated
    changes.unchanged += result.unchanged
    changes.deleted += result.deleted
  }

  static func += (changes: inout Changes, other: Changes) {
    changes.inserted += other.inserted
    changes.updated += other.updated
    changes.unchanged += other.unchanged
    changes.deleted += other.deleted
  }
}
