import CoherenceCore

extension Outbox {
  /// Replaces the identifying values in the entries of a record after the server has assigned other values. Later
  /// requests name the record by the new values, even if the local record is already deleted.
  ///
  /// Called inside of a context that the caller saves.
  ///
  /// - Parameter values: The new values by the names of attributes.
  func replaceIdentifyingValues(
    of id: ManagedObjectID, by values: [String: AttributeValue], in context: ManagedObjectContext
  ) throws {
    replaceIdentifyingValues(in: try context.entryRecords(of: [id])[id] ?? [], by: values)
  }

  /// Replaces the identifying values in entries; see ``replaceIdentifyingValues(of:by:in:)``.
  func replaceIdentifyingValues(in records: [OutboxEntryRecord], by values: [String: AttributeValue]) {
    let data = EntryWriter.identity(
      values.sorted { $0.key < $1.key }.map { EntryFormat.Field(name: $0.key, base: nil, value: .value($0.value)) })
    for record in records { record.identity = data }
  }
}
