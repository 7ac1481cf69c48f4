extension ValueNode {
  /// Calls an observer with the value and from now on with each change.
  final func observe(
    on mailbox: DeliveryQueue, keeping handle: Handle, _ actions: ObserverActions<Value>
  ) -> EntityStore.Subscription {
    let core = core
    let (observation, value) = core.exclusively { begin(actions, on: mailbox) }
    observation.tell(value)
    letGo(observation, mailbox)
    return EntityStore.Subscription(
      keeping: handle,
      unsubscribe: { self.end(observation, mailbox) },
      pause: { core.exclusively { observation.pause() } },
      resume: { self.letGo(observation, mailbox) })
  }

  /// - Returns: The observation and the value that it begins with; `nil` for an observer of removals when there is no
  ///   entity.
  private func begin(_ actions: ObserverActions<Value>, on mailbox: DeliveryQueue) -> (Observation<Value>, Value?) {
    // Before the version: what is read then is up to date.
    let value: Value? = actions.onRemoval != nil && isVacant ? nil : .some(read())
    let observation = Observation(seen: version, actions)
    noteBeginning()
    audience(of: mailbox).add(observation)
    return (observation, value)
  }

  /// In a transaction that may be undone.
  private func noteBeginning() {
    guard let journal = core.journal else { return }
    journal.newlyObserved.append(self)
    // What the node was before the transaction is not known of one that nobody watched; nobody was told of it either.
    if relations?.hasAudiences != true { journal.versions.append((self, version &- 1)) }
  }

  /// Lets an observer that has waited be told, also of what it has missed.
  private func letGo(_ observation: Observation<Value>, _ mailbox: DeliveryQueue) {
    core.exclusively {
      observation.go()
      if observation.isDue(version) { core.enqueue(self) }
    }
  }

  private func audience(of mailbox: DeliveryQueue) -> ObserverGroup<Value> {
    let relations = relate()
    if let known = relations.audiences.first(where: { $0.mailbox === mailbox }) {
      return unsafeDowncast(known, to: ObserverGroup<Value>.self)
    }
    let made = ObserverGroup(of: self, mailbox: mailbox)
    relations.audiences.append(made)
    core.audiences[ObjectIdentifier(made)] = made
    return made
  }

  private func end(_ observation: Observation<Value>, _ mailbox: DeliveryQueue) {
    guard observation.end() else { return }
    core.exclusively { takeOut(observation, mailbox) }
  }

  /// Takes out an observer that has ended. Under the lock.
  final func takeOut(_ observation: AnyObservation, _ mailbox: DeliveryQueue) {
    guard let relations, let place = relations.audiences.firstIndex(where: { $0.mailbox === mailbox }) else { return }
    let audience = unsafeDowncast(relations.audiences[place], to: ObserverGroup<Value>.self)
    if audience.remove(observation) {
      relations.audiences.remove(at: place)
      core.audiences[ObjectIdentifier(audience)] = nil
    }
    // The closure may hold anything, so it goes when the lock is free.
    core.aftermath.refuse.append(observation)
    core.hasWork = true
  }
}
