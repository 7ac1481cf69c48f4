import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let declaredClasses = ConformanceSubject("Declared classes") {
    requests
    groups
    changes
  }

  private typealias Issue = Periodicals.Issue
  private typealias Weekly = Periodicals.Weekly
  private typealias Article = Periodicals.Article

  /// Makes two issues, the second one a weekly, with an article each.
  private static func fill(_ stack: ConformanceStack) throws {
    try stack.reopen(at: try stack.makeLocation(), model: try Periodicals.model())
    try stack.write { context in
      let issue = try Issue(context: context)
      issue.title = "Annual"
      let weekly = try Weekly(context: context)
      weekly.title = "Weekly"
      weekly.week = 7
      for (issue, pages) in [(issue, nil), (weekly, 3)] {
        let article = try Article(context: context)
        article.headline = "About \(issue.title)"
        article.pages = pages
        article.issue = issue
      }
    }
    try stack.reopen()
  }

  @CasesBuilder private static var requests: [Case] {
    Case("conditions and orders by keys find the records of a class and of its subclass") { stack in
      try fill(stack)
      try stack.read { context in
        let issues = FetchRequest(Issue.self).sort(\.title, .reverse)
        try expectEqual(try context.fetch(issues).map(\.title), ["Weekly", "Annual"])
        let long = issues.filter { $0.articles.any { $0.pages > 2 } && $0.articles.count == 1 }
        try expectEqual(try context.fetch(long).map(\.title), ["Weekly"])
        let weeklies = FetchRequest(Weekly.self).filter { $0.week == 7 && $0.title == "Weekly" }.sort(\.week)
        try expectEqual(try context.fetch(weeklies).map(\.title), ["Weekly"])
        let articles = FetchRequest(Article.self).sort(\.issue.title).prefetch(\.issue.articles)
        try expectEqual(try context.fetch(articles).map(\.headline), ["About Annual", "About Weekly"])
      }
    }
    Case("predicates and sort descriptors of Foundation find the records of a subclass") { stack in
      try fill(stack)
      try stack.read { context in
        let weeklies = try FetchRequest(Weekly.self)
          .filter(#Predicate { $0.week == 7 && $0.title == "Weekly" && $0.articles.contains { $0.pages == 3 } })
          .sort([SortDescriptor(\.week), SortDescriptor(\.title)])
        try expectEqual(try context.fetch(weeklies).count, 1)
      }
    }
  }

  @CasesBuilder private static var groups: [Case] {
    [false, true].map { isComputed in
      let name = "records are counted by the values of a property"
      return Case(isComputed ? name + ", computed from records" : name) { stack in
        try fill(stack)
        try stack.write { context in
          let alone = try Article(context: context)
          (alone.headline, alone.pages) = ("Alone", 3)
        }
        // The store in between has no aggregates.
        if isComputed { _ = try stack.interpose() }
        try stack.read { context in try expectCounts(in: context) }
      }
    }
    [false, true].map { isComputed in
      let name = "the different values of a property have each value once, also for raw values without a case"
      return Case(isComputed ? name + ", computed from records" : name) { stack in
        try fill(stack)
        try stack.write { context in
          for (stage, review) in [
            ("archived", nil), ("printed", "printed"), ("withdrawn", "archived"), ("edited", "withdrawn"),
          ] as [(String, String?)] {
            let article = try Article(context: context)
            article.headline = stage
            try article.setValue(stage, for: "stage")
            try article.setValue(review, for: "review")
          }
        }
        // The store in between has no aggregates.
        if isComputed { _ = try stack.interpose() }
        try stack.read { context in
          let articles = FetchRequest(Article.self)
          try expectEqual(try context.distinctValues(of: \.stage, for: articles), [.edited, .planned, .printed])
          try expectEqual(try context.distinctValues(of: \.review, for: articles), [nil, .printed])
          let later = articles.filter { $0.headline == "archived" || $0.headline == "withdrawn" }
          try expectEqual(try context.distinctValues(of: \.stage, for: later), [.planned])
          try expectEqual(try context.distinctValues(of: \.review, for: later), [nil])
          try expectEqual(try context.distinctValues(of: \.issue.title, for: articles), [nil, "Annual", "Weekly"])
          try expectEqual(try context.distinctValues(of: \.issue, for: later), [nil])
        }
      }
    }
  }

  /// Fails unless the articles are counted by their properties, with unsaved articles too.
  private static func expectCounts(in context: ManagedObjectContext) throws {
    let articles = FetchRequest(Article.self)
    try expectEqual(
      try context.count(for: articles, groupedBy: \.issue.title), [nil: 1, "Annual": 1, "Weekly": 1],
      "the numbers by a path")
    try expectEqual(
      try context.count(for: articles, groupedBy: \.pages), [nil: 1, 3: 2], "the numbers by an attribute")
    let weekly = try unwrap(try context.fetch(FetchRequest(Weekly.self)).first)
    let byIssue = try context.count(for: articles, groupedBy: \.issue)
    try expectEqual(byIssue.count, 3, "the number of issues and of none")
    try expectEqual(byIssue[weekly.objectID], 1, "the number by a relationship")
    let long = articles.filter { $0.pages > 2 }
    try expectEqual(
      try context.count(for: long, groupedBy: \.issue.title), [nil: 1, "Weekly": 1], "the numbers of a condition")
    let unsaved = try Article(context: context)
    (unsaved.headline, unsaved.pages, unsaved.issue) = ("Unsaved", 4, weekly)
    try expectEqual(
      try context.count(for: articles, groupedBy: \.issue.title), [nil: 1, "Annual": 1, "Weekly": 2],
      "the numbers with an unsaved record")
    try expectEqual(try context.count(for: articles, groupedBy: \.pages), [nil: 1, 3: 2, 4: 1])
    try expectEqual(
      try context.count(for: articles.filter { $0.headline == "none" }, groupedBy: \.pages), [:], "no records")
  }

  @CasesBuilder private static var changes: [Case] {
    Case("an inverse that one side declares is kept by changes, deletes and stores") { stack in
      try fill(stack)
      try stack.write { context in
        let weekly = try unwrap(try context.fetch(FetchRequest(Weekly.self)).first)
        let annual = try unwrap(try context.fetch(FetchRequest(Issue.self).filter { $0.title == "Annual" }).first)
        try expectEqual(weekly.articles.map(\.headline), ["About Weekly"])
        weekly.articles[0].issue = annual
        try expectEqual(annual.articles.map(\.headline), ["About Annual", "About Weekly"])
      }
      try stack.reopen()
      try stack.write { context in
        let annual = try unwrap(try context.fetch(FetchRequest(Issue.self).filter { $0.title == "Annual" }).first)
        try expectEqual(annual.articles.count, 2)
        context.delete(annual)
      }
      try stack.read { try expectEqual(try $0.count(for: FetchRequest(Article.self)), 0) }
    }
    Case("batch requests by keys change and delete the records of a condition") { stack in
      try fill(stack)
      try stack.read { context in
        let update = BatchUpdateRequest(Weekly.self, where: { $0.week == 7 }) {
          $0.set(\.title, to: "Changed")
          $0.set(\.week, to: 8)
        }
        try expectEqual(try context.execute(update).count, 1)
        let changed = FetchRequest(Weekly.self).filter { $0.week == 8 && $0.title == "Changed" }
        try expectEqual(try context.count(for: changed), 1)
        let deleted = try context.execute(BatchDeleteRequest(Article.self, where: { $0.pages.isNil }))
        try expectEqual(deleted.count, 1)
        try expectEqual(try context.fetch(FetchRequest(Article.self)).map(\.pages), [3])
      }
    }
    Case("a claim by keys sets constant values and refuses a calculation") { stack in
      try fill(stack)
      try stack.read { context in
        let free = FetchRequest(Weekly.self).filter { $0.week == 7 }
        try expectThrows(.invalidFetchRequest) {
          try context.claim(FetchRequest(Article.self), limit: 1) {
            $0.set(\.headline, to: "Claimed")
            $0.set(\.pages, $0.pages + 1)
          }
        }
        try expectEqual(try context.count(for: free), 1, "the number of free records")
        let claimed = try context.claim(free, limit: 1) {
          $0.set(\.title, to: "Claimed")
          $0.set(\.week, to: 8)
        }
        let taken = FetchRequest(Weekly.self).filter { $0.week == 8 && $0.title == "Claimed" }
        try expectEqual(try context.fetch(taken).map(\.objectID), claimed)
        try expectEqual(claimed.count, 1, "the number of claimed records")
      }
    }
  }
}
