import CoherenceCore

extension ConformanceSubject {
  static let refusedAggregates = ConformanceSubject("Refused aggregates") {
    columns
    conditions
  }

  private static func refused(
    _ sentence: String, _ code: ErrorCode, naming words: [String] = [],
    _ request: @escaping @Sendable () throws -> AggregateRequest<ManagedObject>
  ) -> Case {
    Case(sentence) { stack in
      try stack.read { context in
        let error = try expectThrows(code) { try context.fetchDictionaries(request()) }
        for word in words { try expect(error.message.contains(word), "'\(error.message)' to name '\(word)'") }
      }
    }
  }

  @CasesBuilder private static var columns: [Case] {
    refused("the sum of a text is refused", .invalidFetchRequest, naming: ["title", "@sum"]) {
      aggregate("Album", [.sum(of: "title")])
    }
    refused("the average of truth values is refused", .invalidFetchRequest, naming: ["isLive", "@avg"]) {
      aggregate("Album", [.average(of: "isLive")])
    }
    refused("the sum of dates over a relationship is refused", .invalidFetchRequest, naming: ["album.released"]) {
      aggregate("Track", [.sum(of: "album.released")])
    }
    refused("the least of objects is refused", .invalidFetchRequest, naming: ["artist", "@min"]) {
      aggregate("Album", [.minimum(of: "artist")])
    }
    refused("a sum without an attribute is refused", .invalidFetchRequest, naming: ["@sum"]) {
      aggregate("Album", ["@sum"])
    }
    refused("a column that is neither a group key nor an aggregate is refused", .invalidFetchRequest, naming: ["title"])
    {
      aggregate("Album", by: ["year"], ["year", "title"])
    }
    refused("a group key of many members is refused", .invalidFetchRequest, naming: ["tracks"]) {
      aggregate("Album", by: ["tracks"], [.count])
    }
    refused("an unknown group key is refused", .unknownProperty, naming: ["nonsense"]) {
      aggregate("Album", by: ["nonsense"], [.count])
    }
    refused("an unknown property of an aggregate is refused", .unknownProperty, naming: ["nonsense"]) {
      aggregate("Album", [.sum(of: "artist.nonsense")])
    }
    refused("two columns of one name are refused", .invalidFetchRequest, naming: ["n"]) {
      aggregate("Album", [.count(named: "n"), .sum(of: "year", named: "n")])
    }
    refused("an aggregate request without columns is refused", .invalidFetchRequest) { aggregate("Album", []) }
    refused("a negative limit of groups is refused", .invalidFetchRequest) {
      aggregate("Album", [.count]).changed { $0.fetchLimit = -1 }
    }
    refused("a negative offset of groups is refused", .invalidFetchRequest) {
      aggregate("Album", [.count]).changed { $0.fetchOffset = -1 }
    }
    refused("aggregates of an unknown entity are refused", .unknownEntity, naming: ["Nonsense"]) {
      aggregate("Nonsense", [.count])
    }
  }

  @CasesBuilder private static var conditions: [Case] {
    refused("a having predicate that compares a number with text is refused", .invalidPredicate, naming: ["@sum.year"])
    {
      try aggregate("Album", [.count]).changed {
        $0.havingPredicate = try FetchPredicate(format: "@sum.year == \"a\"")
      }
    }
    refused("a having predicate on a property that is no group key is refused", .invalidFetchRequest, naming: ["title"])
    {
      try aggregate("Album", [.count]).changed { $0.havingPredicate = try FetchPredicate(format: "title == \"a\"") }
    }
    refused("a having predicate on members is refused", .invalidFetchRequest, naming: ["tracks"]) {
      try aggregate("Album", [.count]).changed {
        $0.havingPredicate = try FetchPredicate(format: "ANY tracks.length > 3")
      }
    }
    refused("an order of groups by a property that is no group key is refused", .invalidFetchRequest, naming: ["title"])
    {
      aggregate("Album", [.count]).changed { $0.sortKeys = [SortKey("title")] }
    }
    refused("an order of numbers without regard to case is refused", .invalidFetchRequest, naming: ["@count"]) {
      aggregate("Album", [.count]).changed { $0.sortKeys = [SortKey("@count", options: .caseInsensitive)] }
    }
    Case("an order by the sum of the members' texts is refused") { stack in
      try stack.read { context in
        let error = try expectThrows(.invalidFetchRequest) {
          try context.all("Album", sort: [SortKey("tracks.@sum.title")])
        }
        try expect(error.message.contains("title"), "the message to name the property")
        try expectThrows(.invalidPredicate) { try context.all("Album", sort: [SortKey("tracks.@sum")]) }
      }
    }
  }
}
