#if canImport(Combine)
  public import Combine
#elseif OpenCombine
  public import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
  extension EntityObserver {
    /// Publishes the current value to each subscriber, and then each new value. It completes only when the store is
    /// cleared. Subscribers observe independently: cancelling one does not affect the others.
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
        on: observer.node.core.queues.standard, retaining: observer.handle, actions)
      subject.compactMap { $0 }
        .handleEvents(receiveCancel: { subscription.unsubscribe() })
        .subscribe(subscriber)
    }
  }
#endif
