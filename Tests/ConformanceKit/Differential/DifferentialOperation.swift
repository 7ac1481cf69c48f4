import CoherenceCore

/// One step of a sequence, as data: objects are named by the order in which the sequence inserts them, so that a step
/// means the same on every store, and still does when other steps are left out.
struct DifferentialOperation: Sendable {
  /// The context that runs the step.
  var context: Int
  var action: Action

  enum Action: Sendable {
    case insert(String, entity: String, [PropertyValue])
    case set(String, PropertyValue)
    case read(String)
    case relate(String, relationship: String, to: String?)
    case addMember(String, relationship: String, String, at: Int?)
    case removeMember(String, relationship: String, String)
    case replaceMembers(String, relationship: String, [String])
    case moveMember(String, relationship: String, from: Int, to: Int)
    case delete(String)
    case find(String)
    case fetch(RandomQuery)
    case count(RandomQuery)
    case aggregate(RandomQuery)
    case filter(String, relationship: String, RandomQuery)
    case listPending
    case processPending
    case save
    /// A save, followed by a rollback on failure, so that the next save of the sequence is not empty.
    case saveOrRollback
    case rollback
    case refresh(String, keepingChanges: Bool)
    case refreshAll
    case reset
    case mergeChanges(from: Int)
    case obtainPermanentIDs([String])
    case updateBatch(RandomQuery, [PropertyValue])
    case deleteBatch(RandomQuery)
    case choosePolicy(PolicyChoice)
  }

  struct PropertyValue: Sendable {
    var property: String
    var value: AttributeValue
  }

  enum PolicyChoice: String, Sendable, CaseIterable {
    case error, storeTrumps, objectTrumps, overwrite, rollback, custom

    var policy: MergePolicy {
      switch self {
      case .error: .error
      case .storeTrumps: .storeTrumps
      case .objectTrumps: .objectTrumps
      case .overwrite: .overwrite
      case .rollback: .rollback
      case .custom: .custom { conflict in conflict.store == nil ? nil : conflict.mine?.values }
      }
    }
  }
}

extension DifferentialOperation.Action {
  /// The kind of step, for counting.
  var kind: String {
    switch self {
    case .insert: "insert"
    case .set: "set"
    case .read: "read"
    case .relate: "relate"
    case .addMember: "addMember"
    case .removeMember: "removeMember"
    case .replaceMembers: "replaceMembers"
    case .moveMember: "moveMember"
    case .delete: "delete"
    case .find: "find"
    case .fetch: "fetch"
    case .count: "count"
    case .aggregate: "aggregate"
    case .filter: "filter"
    case .listPending: "listPending"
    case .processPending: "processPending"
    case .save: "save"
    case .saveOrRollback: "saveOrRollback"
    case .rollback: "rollback"
    case .refresh: "refresh"
    case .refreshAll: "refreshAll"
    case .reset: "reset"
    case .mergeChanges: "mergeChanges"
    case .obtainPermanentIDs: "obtainPermanentIDs"
    case .updateBatch: "updateBatch"
    case .deleteBatch: "deleteBatch"
    case .choosePolicy: "choosePolicy"
    }
  }

  /// Every kind of step in a random sequence.
  static let kinds = [
    "insert", "set", "read", "relate", "addMember", "removeMember", "replaceMembers", "moveMember", "delete", "find",
    "fetch", "count", "aggregate", "filter", "listPending", "processPending", "save", "saveOrRollback", "rollback",
    "refresh",
    "refreshAll", "reset", "mergeChanges", "obtainPermanentIDs", "updateBatch", "deleteBatch", "choosePolicy",
  ]
}

/// The contexts and steps of one seed.
struct DifferentialSequence: Sendable {
  struct Context: Sendable {
    /// The index of the parent context; `nil` for a context that reads and saves the store.
    var parent: Int?
    /// The indexes of the contexts whose saves this context merges.
    var follows: [Int] = []
    var savesPastParent = false
  }
  var contexts: [Context]
  var operations: [DifferentialOperation]
}
