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
        on: observer.node.core.queues.standard, keeping: observer.handle, actions)
      subject.compactMap { $0 }
        .handleEvents(receiveCancel: { subscription.unsubscribe() })
        .subscribe(subscriber)
    }
  }
#endif
