/// The beginning, the pauses and the end of observations. An ``ObserverGroup`` delivers the values.
extension ValueNode {
  /// Calls an observer with the value, and then with each new one.
  final func observe(
    on queue: DeliveryQueue, retaining handle: Handle, _ actions: ObserverActions<Value>
  ) -> EntityStore.Subscription {
    let core = core
    let (observation, group, value) = core.exclusively { begin(actions, on: queue) }
    observation.notify(value)
    resume(observation)
    return EntityStore.Subscription(
      retaining: handle,
      unsubscribe: { self.end(observation, in: group) },
      pause: { core.exclusively { observation.pause() } },
      resume: { self.resume(observation) })
  }

  /// Adds an observer, whose deliveries wait for the first value.
  /// - Returns: The observation, its group and its first value; `nil` for an observer of removals of an absent entity.
  private func begin(
    _ actions: ObserverActions<Value>, on queue: DeliveryQueue
  ) -> (Observation<Value>, ObserverGroup<Value>, Value?) {
    // Before the version, because reading can bring the node up to date.
    let value: Value? = actions.onRemoval != nil && isAbsent ? nil : .some(read())
    let observation = Observation(deliveredVersion: version, actions)
    recordBeginning()
    let group = group(of: queue)
    group.add(observation)
    return (observation, group, value)
  }

  /// Records the beginning of an observation in a transaction with an undo log.
  private func recordBeginning() {
    guard let undoLog = core.undo.log else { return }
    undoLog.notifiedAfterRollback.append(self)
    // Without this entry, the next change records the present version as the version before the transaction, and a
    // rollback skips the new observer, which has received that version. No observer has received `version - 1`.
    if relations?.hasObservers != true { undoLog.versions.append((self, version &- 1)) }
  }

  /// Continues deliveries, and schedules one if the value has changed.
  private func resume(_ observation: Observation<Value>) {
    core.exclusively {
      observation.resume()
      if observation.isDue(version) { core.pending.addChanged(self) }
    }
  }

  /// Returns the node's group of observers with a delivery queue, made for the first observer.
  private func group(of queue: DeliveryQueue) -> ObserverGroup<Value> {
    let relations = makeRelations()
    if let existing = relations.observerGroup(of: queue) {
      return unsafeDowncast(existing, to: ObserverGroup<Value>.self)
    }
    let made = ObserverGroup(of: self, queue: queue)
    relations.add(made)
    core.observers.add(made)
    return made
  }

  /// Ends an observation on behalf of the program.
  private func end(_ observation: Observation<Value>, in group: ObserverGroup<Value>) {
    guard observation.end() else { return }
    core.exclusively { removeEnded(observation, in: group) }
  }

  /// Removes an ended observer. Under the lock.
  final func removeEnded(_ observation: AnyObservation, in group: ObserverGroup<Value>) {
    group.remove(observation)
    if group.count == 0, core.observers.remove(group) { relations?.remove(group) }
    // Its closures may retain any object, so it is released when the lock is free.
    core.pending.release(observation)
  }
}
