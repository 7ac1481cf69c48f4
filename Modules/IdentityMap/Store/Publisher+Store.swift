#if canImport(Combine)
  import Combine
#elseif OpenCombine
  import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
  extension Publisher {
    /// Stores what comes and goes on with what the store makes of it: the entity, and its changes, until the next comes.
    /// - Parameter modifiedAt: Asked for the stamp of each value that comes; by default there is none.
    public func store(
      in store: EntityStore, named: AliasKey<Output>? = nil,
      modifiedAt: @autoclosure @escaping () -> Stamp? = nil
    ) -> AnyPublisher<Output, Failure> where Output: Identifiable & Sendable {
      map { entity in
        store.store(entity: entity, named: named, modifiedAt: modifiedAt()).asPublisher.setFailureType(to: Failure.self)
      }
      .switchToLatest()
      .eraseToAnyPublisher()
    }

    /// Stores what comes and goes on with what the store makes of it: the entities, and their changes, until the next
    /// come.
    public func store(
      in store: EntityStore, named: AliasKey<Output>? = nil,
      modifiedAt: @autoclosure @escaping () -> Stamp? = nil
    ) -> AnyPublisher<[Output.Element], Failure>
    where Output: Collection & Sendable, Output.Element: Identifiable & Sendable {
      map { entities in
        store.store(entities: entities, named: named, modifiedAt: modifiedAt()).asPublisher
          .setFailureType(to: Failure.self)
      }
      .switchToLatest()
      .eraseToAnyPublisher()
    }
  }
#endif
