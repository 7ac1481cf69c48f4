package import CoherenceStrategies

/// A container that makes contexts of actions, for modules that are given any container.
package protocol ActionContextMaking: PersistentContainer {
  /// Makes a context that may merge records of managed entities.
  func newActionContext() -> ActionContext
}

extension GenericConnect: ActionContextMaking {}
