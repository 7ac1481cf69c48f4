extension EntityStore {
  /// Whether an entity should be fetched again: the entity does not exist, was invalidated, or has reached an
  /// age. The time of writes is recorded while the policy of the type has `staleAfter` or a time to live; an entity
  /// without a recorded time has no age.
  /// - Parameter time: The limit of the age; by default the policy's `staleAfter`.
  public func isStale<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID, after time: Duration? = nil) -> Bool {
    core.exclusively {
      let table = core.table(of: type)
      return table.search(id).map { table.isStale($0, after: time) } ?? true
    }
  }

  /// The time since the last write of an entity; `nil` if the time is not known. See ``isStale(_:id:after:)``.
  public func age<T: Identifiable & Sendable>(of type: T.Type, id: T.ID) -> Duration? {
    core.exclusively {
      let table = core.table(of: type)
      return table.search(id).flatMap { table.age(of: $0) }
    }
  }

  /// Marks an entity as stale until the next write. Its value stays, and observers are not notified.
  public func invalidate<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) {
    core.exclusively {
      guard let node = core.table(of: type).node(id) else { return }
      core.record(node)
      node.flags.insert(.invalidated)
    }
  }

  /// Makes all entities of a type stale until they are written again. Takes time in proportion to their number, with the
  /// store locked.
  public func invalidateAll<T: Identifiable & Sendable>(_ type: T.Type) {
    core.exclusively {
      core.table(of: type).index.forEach { node in
        core.record(node)
        node.flags.insert(.invalidated)
      }
    }
  }
}
