import CoherenceCore

/// Previews of migrations, for factories that make them.
extension ConformanceSubject {
  static let migrationPreviews = ConformanceSubject("Migration previews") {
    Case("a preview of a migration has its statements and changes nothing, and is empty afterwards") { stack in
      let changed = try base.changed { $0.book.append(Attribute("edition", .int32, optional: true)) }.model
      try fill(stack)
      guard try hasPreviews(stack) else { return }
      let before = try stack.store.metadata()
      let found = try unwrap(try preview(stack, of: changed), "a preview")
      try expect(found.statements.contains { $0.contains("edition") }, "a statement about the new attribute")
      try expectEqual(found.dataLosses, [])
      try expectEqual(try stack.store.metadata().versionHashes, before.versionHashes)
      try expectEqual(try stack.store.metadata().models.count, before.models.count)
      try stack.read { try expectEqual(try $0.names("Book"), ["Edda", "Egla"]) }
      try stack.reopen(model: changed)
      try stack.read { try expectEqual(try $0.number(of: "Book", where: equal("edition", Int32?.none)), 2) }
      let further = try unwrap(try preview(stack, of: changed), "a preview")
      try expect(further.isEmpty, "no further change")
    }
    Case("a preview of a migration is refused with its losses, and has them when they are allowed") { stack in
      let changed = try base.changed {
        Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
      }.model
      try fill(stack)
      guard try hasPreviews(stack) else { return }
      let error = try expectThrows(.incompatibleModel) { try preview(stack, of: changed) }
      try expectEqual(error.dataLosses.map(\.count).reduce(0, +), 2)
      let allowed = try unwrap(
        try preview(stack, of: changed, options: [StoreOption.allowsDataLoss: true]), "a preview")
      try expectEqual(allowed.dataLosses.map(\.count).reduce(0, +), 2)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", 101)), ["Egla"]) }
    }
    Case("a preview of a migration is refused with the duplicates of a new uniqueness constraint") { stack in
      let changed = try base.changed { $0.uniqueness = [["isbn"]] }.model
      try fill(stack)
      guard try hasPreviews(stack) else { return }
      let found = try unwrap(try preview(stack, of: changed), "a preview")
      try expect(!found.statements.isEmpty, "the statement of the constraint")
      try stack.write { try $0.make("Book", ["title": "Njala", "isbn": "1"]) }
      let error = try expectThrows(.incompatibleModel) { try preview(stack, of: changed) }
      try expectEqual(error.duplicateKeys.map(\.recordCount), [2])
    }
    Case("a preview of a migration that computes values is refused with the duplicates among other values") { stack in
      let changed = try base.changed {
        $0.book.append(Attribute("heading", .string, optional: true, derived: .uppercase("title")))
        $0.uniqueness = [["isbn"]]
      }.model
      try fill(stack)
      guard try hasPreviews(stack) else { return }
      let found = try unwrap(try preview(stack, of: changed), "a preview")
      try expectEqual(found.convertedAttributes, ["Book.heading"])
      try stack.write { try $0.make("Book", ["title": "Njala", "isbn": "1"]) }
      let error = try expectThrows(.incompatibleModel) { try preview(stack, of: changed) }
      try expectEqual(error.duplicateKeys.map(\.recordCount), [2])
    }
    Case("a location without a store has no preview") { stack in
      guard try hasPreviews(stack) else { return }
      let nowhere = try stack.makeLocation()
      let found = try preview(stack, of: try base.model, at: nowhere)
      try expectEqual(found, nil)
    }
  }

  private static func fill(_ stack: ConformanceStack) throws {
    try stack.reopen(at: try stack.makeLocation(), model: try base.model)
    try stack.write(fillLibrary)
  }

  private static func preview(
    _ stack: ConformanceStack, of model: ManagedObjectModel, options: [String: OptionValue] = [:],
    at location: (any StoreLocation)? = nil
  ) throws -> MigrationPreview? {
    let location = location ?? stack.location
    let configuration = StoreConfiguration(
      type: location.type, options: location.options.merging(options) { $1 }, location: location.url)
    return try stack.makeCoordinator(model: model).migrationPreview(for: configuration, at: location.url)
  }

  /// Whether the factory of the case's store makes previews. Any other factory refuses by code.
  private static func hasPreviews(_ stack: ConformanceStack) throws -> Bool {
    if try stack.coordinator.factory(for: stack.location.type) is any MigrationPreviewing { return true }
    try expectThrows(.unsupported) { try preview(stack, of: stack.model) }
    return false
  }
}
