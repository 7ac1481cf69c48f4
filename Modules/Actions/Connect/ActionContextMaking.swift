package import CoherenceStrategies

/// A container with contexts for merges, in other words a `Connect`. Modules that accept any container, such as
/// persisted actions, cast the container to this protocol.
package protocol ActionContextMaking: PersistentContainer {
  /// Makes a context for merges of managed entities; see ``ActionContext``.
  func newActionContext() -> ActionContext
}

extension GenericConnect: ActionContextMaking {}
