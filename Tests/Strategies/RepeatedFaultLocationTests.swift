import CoherenceCore
import Foundation
import Synchronization
import TestSupport
import Testing

#if os(Linux)
  /// The file and line in reports of faults that accessors load one by one. Other platforms have no stack traces.
  @Suite struct RepeatedFaultLocationTests {
    private final class Album: ManagedObject {
      static let tagsKey = ToManyKey<Tag>("tags")
      var tags: ToMany<Tag> { self[Self.tagsKey] }
    }
    private final class Tag: ManagedObject {
      static let nameKey = AttributeKey<String>("name")
      var name: String { self[Self.nameKey] }
    }

    private static let model = try! ManagedObjectModel {
      Entity("Album", class: Album.self) {
        Attribute("title", .string)
        Relationship("tags", toMany: "Tag", inverse: "albums")
      }
      Entity("Tag", class: Tag.self) {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
    }

    /// Whether a text names a line of this file, or in a build without debug information a function of this suite.
    private static func isHere(_ text: String?, _ line: Int) -> Bool {
      guard let text else { return false }
      return text.contains("RepeatedFaultLocationTests.swift:\(line)")
        || text.contains("in RepeatedFaultLocationTests.`")
    }

    private final class Reports: Sendable {
      let all = Mutex<[RepeatedFaults]>([])
    }

    /// Runs a block with a context and the identifiers of ten albums with a tag each.
    private func filled(
      _ backend: Backend, _ body: (ManagedObjectContext, [ManagedObjectID]) throws -> Void
    ) throws {
      let stack = try LoggedStore(backend, Self.model)
      defer { stack.close() }
      let ids = try stack.write { writer in
        for number in 0..<10 {
          let tag = try Tag(context: writer)
          try tag.setValue("tag \(number)", for: "name")
          let album = try Album(context: writer)
          try album.setValue("album \(number)", for: "title")
          album.tags.insert(tag)
        }
        try writer.save()
        return try writer.fetchIDs(FetchRequest<Album>())
      }
      try body(stack.context(), ids)
    }

    /// The reports of a context whose block loads faults.
    private func reports(
      in context: ManagedObjectContext, _ body: () throws -> Void
    ) throws -> [RepeatedFaults] {
      let reports = Reports()
      context.faultPolicy = .report(after: 3) { repetition in reports.all.withLock { $0.append(repetition) } }
      try context.performAndWait(body)
      return reports.all.withLock { $0 }
    }

    @Test(arguments: Backend.available)
    func `a report of repeated faults names the file and line of the loop`(backend: Backend) throws {
      try filled(backend) { context, ids in
        var line = 0
        let lists = try reports(in: context) {
          for id in ids {
            line = #line + 1
            _ = (context.object(with: id) as? Album)?.tags.count
          }
        }
        #expect(lists.map(\.relationshipName) == ["tags"])
        #expect(Self.isHere(lists.first?.location, line), "\(lists)")
        let records = try reports(in: context) {
          for id in ids {
            line = #line + 1
            _ = try context.object(with: id).value(for: "title", as: String.self)
          }
        }
        #expect(records.map(\.entityName) == ["Album"])
        #expect(Self.isHere(records.first?.location, line), "\(records)")
      }
    }

    @Test(arguments: [Backend.inMemory])
    func `a report of repeated faults names the line that calls a method of the standard library on members`(
      backend: Backend
    ) throws {
      try filled(backend) { context, ids in
        var line = 0
        let lists = try reports(in: context) {
          for id in ids {
            guard let album = context.object(with: id) as? Album else { continue }
            line = #line + 1
            _ = album.tags.map(\.name)
          }
        }
        let list = try #require(lists.first { $0.relationshipName == "tags" })
        #expect(Self.isHere(list.location, line), "\(list)")
      }
    }

    @Test(arguments: [Backend.inMemory])
    func `the error of the check for repeated faults names the file and line of the loop`(backend: Backend) throws {
      try filled(backend) { context, ids in
        var line = 0
        var message = ""
        // Code in an expectation of the test library is compiled in a file that the library's macro makes.
        do {
          try expectNoRepeatedFaults {
            try context.performAndWait {
              for id in ids {
                line = #line + 1
                _ = try context.object(with: id).objects(for: "tags").count
              }
            }
          }
        } catch let error as CoherenceError {
          message = error.message
        }
        #expect(Self.isHere(message, line), "\(message)")
        #expect(message.contains("the relationship 'Album.tags'"), "\(message)")
      }
    }
  }
#endif
