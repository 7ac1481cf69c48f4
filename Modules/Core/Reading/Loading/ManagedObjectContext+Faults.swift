import Synchronization

extension ManagedObjectContext {
  /// The treatment of faults that accessors load one by one: ``FaultPolicy/load`` unless set. Set it to
  /// ``FaultPolicy/report(after:_:)`` to find loops that send a statement for each object:
  ///
  /// ```swift
  /// context.faultPolicy = .report(after: 10) { repetition in logger.warning("\(repetition)") }
  /// ```
  /// A unit of work is an outermost `perform`; without `perform`, a turn of the main queue, or the time between two
  /// saves. Objects of one fetch are loaded together, which is no repetition. May be set on any thread.
  public final var faultPolicy: FaultPolicy {
    get { settings.withLock { $0.faultPolicy } }
    set {
      // Released after the lock: the `deinit` of an object in the former closure may use this context.
      let former = settings.withLock { exchange(&$0.faultPolicy, with: newValue) }
      withExtendedLifetime(former) {}
      if case .report = newValue { storage.countsFaults.store(true, ordering: .relaxed) }
    }
  }

  /// Records that an accessor sends a statement for a single record of an entity.
  @inline(__always) final func noteFault(of entity: EntityDescription) {
    guard FaultRecorder.current != nil || storage.countsFaults.load(ordering: .relaxed) else { return }
    note(FaultSubject(entityName: entity.name, relationshipName: nil))
  }

  /// Records that an accessor sends a statement for a relationship of a single owner.
  @inline(__always) final func noteFault(of relationship: RelationshipDescription, in entity: EntityDescription) {
    guard FaultRecorder.current != nil || storage.countsFaults.load(ordering: .relaxed) else { return }
    note(FaultSubject(entityName: entity.name, relationshipName: relationship.name))
  }

  /// Counts a fault, for the running ``expectNoRepeatedFaults(limit:file:line:_:)`` and for the policy of the context.
  @inline(never) private final func note(_ subject: FaultSubject) {
    let unit = FaultRecorder.Unit(context: storage.confinement, number: unitOfFaults)
    FaultRecorder.current?.note(subject, in: unit)
    guard case .report(let limit, let report) = faultPolicy else { return }
    if storage.faults.unit != unit.number { storage.faults = (unit.number, FaultCounts()) }
    if storage.faults.counts.note(subject) - 1 == limit,
      let repetition = storage.faults.counts.repetition(of: subject, beyond: limit)
    {
      report(repetition)
    }
  }
}
