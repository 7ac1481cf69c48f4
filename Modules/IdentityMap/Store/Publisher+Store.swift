#if canImport(Combine)
  public import Combine
#elseif OpenCombine
  public import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
  extension Publisher {
    /// Stores each received value, and publishes the entity and its changes until the next value is received.
    /// - Parameter modifiedAt: Evaluated for the stamp of each received value; `nil` by default.
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

    /// Stores each received collection, and publishes its entities and their changes until the next collection is
    /// received.
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
