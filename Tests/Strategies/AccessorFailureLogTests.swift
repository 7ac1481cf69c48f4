import CoherenceCore
import Foundation
import Logging
import TestSupport
import Testing

/// The warnings of accessors that fail, in the log of a stack.
@Suite struct AccessorFailureLogTests {
  private final class Track: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    var title: String {
      get { self[Self.titleKey] }
      set { self[Self.titleKey] = newValue }
    }
  }

  private static let model = try! ManagedObjectModel {
    Entity("Track", class: Track.self) { Attribute("title", .string) }
  }

  /// Runs a block with a context that has faults of records which another context has deleted.
  private func deleted(
    _ count: Int, _ backend: Backend, _ body: (ManagedObjectContext, [Track], MessageLog) throws -> Void
  ) throws {
    let stack = try LoggedStore(backend, Self.model)
    defer { stack.close() }
    let ids = try stack.write { writer in
      for number in 0..<count { try Track(context: writer).title = "secret \(number)" }
      try writer.save()
      let ids = try writer.fetchIDs(FetchRequest<Track>())
      for track in try writer.fetch(FetchRequest<Track>()) { writer.delete(track) }
      return ids
    }
    #expect(ids.count == count)
    stack.log.removeAll()
    let context = stack.context()
    context.name = "editor"
    try context.performAndWait {
      try body(context, ids.compactMap { context.object(with: $0) as? Track }, stack.log)
    }
  }

  /// Expects a single warning that names the entity, the object, the context and the code, and no value.
  private func expectWarning(
    _ text: String, of id: ManagedObjectID, in log: MessageLog, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let warnings = log.texts(.warning)
    #expect(warnings.count == 1, "\(warnings)", sourceLocation: sourceLocation)
    let warning = warnings.first ?? ""
    #expect(warning.hasPrefix(text), "\(warning)", sourceLocation: sourceLocation)
    for (name, value) in [
      ("entity", "Track"), ("object", "\(id)"), ("context", "editor"), ("code", "\(ErrorCode.recordVanished)"),
    ] {
      #expect(warning.contains("\(name)") && warning.contains(value), "\(warning)", sourceLocation: sourceLocation)
    }
    #expect(!warning.contains("secret") && !warning.contains("edited"), "\(warning)", sourceLocation: sourceLocation)
  }

  @Test(arguments: Backend.available)
  func `an object that cannot be loaded is one warning in the log, for any number of reads`(backend: Backend) throws {
    try deleted(1, backend) { _, tracks, log in
      for _ in 0..<50 { #expect(tracks[0].title.isEmpty) }
      expectWarning("An object could not be loaded.", of: tracks[0].objectID, in: log)
    }
  }

  @Test(arguments: Backend.available)
  func `a lost change is one warning in the log, for any number of assignments`(backend: Backend) throws {
    try deleted(1, backend) { context, tracks, log in
      let id = tracks[0].objectID
      for number in 0..<50 { tracks[0].title = "edited \(number)" }
      expectWarning("A change of an object was lost.", of: id, in: log)
      let error = #expect(throws: CoherenceError.self) { try context.save() }
      #expect(error?.code == .recordVanished)
    }
  }

  @Test(arguments: Backend.available)
  func `failures beyond the greatest number of reports are one warning for all of them`(backend: Backend) throws {
    try deleted(150, backend) { context, tracks, log in
      let titles = tracks.map(\.title)
      let reports = context.reportedErrors.count
      let warnings = log.texts(.warning)
      let single = warnings.filter { $0.hasPrefix("An object could not be loaded.") }
      let last = warnings.filter { $0.hasPrefix("More accessors failed than are reported.") }
      #expect(titles == Array(repeating: "", count: 150))
      #expect(reports == 100 && single.count == 100 && warnings.count == 101)
      #expect(last.count == 1 && last.first?.contains("editor") == true, "\(last)")
    }
  }
}
