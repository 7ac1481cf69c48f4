#if canImport(Combine)
  public import Combine
#elseif OpenCombine
  public import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
  extension EntityObserver {
    /// The value that is current, for each subscriber, and from then on each new one. It completes only when the store
    /// is cleared, and each subscriber observes by itself: that one cancels does not concern another.
    public var asPublisher: AnyPublisher<T, Never> {
      AnyPublisher(EntityPublisher(observer: self))
    }
  }

  private struct EntityPublisher<Output: Sendable>: Publisher {
    typealias Failure = Never

    let observer: EntityObserver<Output>

    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
      let subject = CurrentValueSubject<Output?, Never>(nil)
      // Subjects may be sent to from every thread, one at a time, as a delivery does.
      nonisolated(unsafe) let target = subject
      let actions = ObserverActions<Output>(
        onChange: { target.send($0) }, onEnd: { target.send(completion: .finished) })
      let subscription = observer.node.observe(
        on: observer.node.core.mailboxes.standard, keeping: observer.handle, actions)
      subject.compactMap { $0 }
        .handleEvents(receiveCancel: { subscription.unsubscribe() })
        .subscribe(subscriber)
    }
  }

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
