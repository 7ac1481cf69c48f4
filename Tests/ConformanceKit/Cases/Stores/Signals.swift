import CoherenceCore

extension ConformanceSubject {
  static let signals = ConformanceSubject("Signals") {
    streams
    saves
    misuse
  }

  /// A case for the store as it is, and for a store of another package without signals of its own.
  private static func both(
    _ name: String, run: @escaping @Sendable (ConformanceStack, StoreType) async throws -> Void
  ) -> [Case] {
    [
      Case(name) { stack in try await run(stack, stack.location.type) },
      Case(name + ", in a store without signals of its own") { stack in
        let interposition = try stack.interpose()
        try await run(stack, try interposition.type(for: stack.location.type))
      },
    ]
  }

  /// Another coordinator on the case's store, opened as the given type.
  private static func companion(of stack: ConformanceStack, _ type: StoreType) throws -> PersistentStoreCoordinator {
    let coordinator = stack.makeCoordinator()
    try stack.attach(stack.location, to: coordinator, type: type)
    return coordinator
  }

  /// Waits for the next element of a stream, and fails at its end.
  private static func expectElement(
    of signals: inout AsyncStream<Void>.Iterator, _ what: String, file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    let element: Void? = await signals.next()
    try expect(element != nil, what, file: file, line: line)
  }

  @CasesBuilder private static var streams: [Case] {
    both("a stream of signals begins with an element, and has one after each signal") { stack, _ in
      var signals = stack.coordinator.signals("jobs").makeAsyncIterator()
      try await expectElement(of: &signals, "an element when the stream listens")
      for _ in 1...3 {
        try stack.coordinator.signal("jobs")
        try await expectElement(of: &signals, "an element after a signal")
      }
    }
    both("a signal reaches the streams of every coordinator of the store") { stack, type in
      let other = try companion(of: stack, type)
      var signals = stack.coordinator.signals("jobs").makeAsyncIterator()
      var others = other.signals("jobs").makeAsyncIterator()
      try await expectElement(of: &signals, "an element when the stream listens")
      try await expectElement(of: &others, "an element when the other stream listens")
      try other.signal("jobs", in: try unwrap(other.persistentStores.first))
      try await expectElement(of: &signals, "the signal")
      try await expectElement(of: &others, "the signal in the stream of its own coordinator")
    }
    both("a stream listens to a store that is attached later") { stack, type in
      let other = stack.makeCoordinator()
      var signals = other.signals("jobs").makeAsyncIterator()
      try stack.attach(stack.location, to: other, type: type)
      try await expectElement(of: &signals, "an element when the store is attached")
      try stack.coordinator.signal("jobs")
      try await expectElement(of: &signals, "the signal")
    }
    Case("a stream ends with its coordinator") { stack in
      var coordinator: PersistentStoreCoordinator? = PersistentStoreCoordinator(managedObjectModel: stack.model)
      var signals = try unwrap(coordinator).signals("jobs").makeAsyncIterator()
      coordinator = nil
      let end: Void? = await signals.next()
      try expect(end == nil, "the end")
    }
  }

  @CasesBuilder private static var saves: [Case] {
    both("a save signals its channels, and a reader of the stream finds the saved records") { stack, type in
      let other = try companion(of: stack, type)
      var signals = other.signals("jobs").makeAsyncIterator()
      try await expectElement(of: &signals, "an element when the stream listens")
      try stack.write { context in
        context.signalOnSave("jobs")
        try context.make("Genre", ["name": "jazz"])
      }
      try await expectElement(of: &signals, "the signal of the save")
      let reader = ManagedObjectContext(coordinator: other)
      try reader.performAndWait { try expectEqual(try reader.names("Genre"), ["jazz"]) }
    }
    both("a save of many records signals its channel") { stack, _ in
      var signals = stack.coordinator.signals("jobs").makeAsyncIterator()
      try await expectElement(of: &signals, "an element when the stream listens")
      try stack.write { context in
        context.signalOnSave("jobs")
        for number in 1...600 { try context.make("Album", ["title": "\(number)"]) }
      }
      try await expectElement(of: &signals, "the signal of the save")
    }
    both("a save that fails keeps its signal for the next save") { stack, _ in
      try stack.write { try $0.make("Genre", ["name": "jazz"]) }
      var signals = stack.coordinator.signals("jobs").makeAsyncIterator()
      try await expectElement(of: &signals, "an element when the stream listens")
      try stack.read { context in
        context.signalOnSave("jobs")
        let genre = try context.make("Genre", ["name": "jazz"])
        try expectThrows(.uniquenessViolated) { try context.save() }
        try genre.setValue("rock", for: "name")
        try context.save()
      }
      try await expectElement(of: &signals, "the signal of the second save")
    }
    both("a save into a parent passes its signal to the save of the parent") { stack, _ in
      var signals = stack.coordinator.signals("jobs").makeAsyncIterator()
      try await expectElement(of: &signals, "an element when the stream listens")
      let parent = stack.context()
      let child = ManagedObjectContext(parent: parent)
      try child.performAndWait {
        child.signalOnSave("jobs")
        try child.make("Genre", ["name": "jazz"])
        try child.save()
      }
      try parent.performAndWait { try parent.save() }
      try await expectElement(of: &signals, "the signal of the parent's save")
    }
  }

  @CasesBuilder private static var misuse: [Case] {
    Case("a channel without a name, with a long one or with a null character is refused") { stack in
      for channel in ["", String(repeating: "x", count: 201), "a\0b"] {
        try expectThrows(.invalidValue) { try stack.coordinator.signal(channel) }
        try stack.read { context in
          context.signalOnSave(channel)
          try context.make("Genre", ["name": "jazz"])
          try expectThrows(.invalidValue) { try context.save() }
        }
      }
      try stack.coordinator.signal(String(repeating: "x", count: 200))
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 0) }
    }
  }
}
