import CoherenceCore
import Testing

@Suite struct QueryDepthTests {
  let library: QueryLibrary
  let album: QueryLibrary.Record

  init() throws {
    library = try QueryLibrary()
    album = try library.makeAlbum()
  }

  private let isOf1990 = FetchPredicate.comparison(.path(PropertyPath("year")), .equal, .value(.int(1990)))
  private let isLive = FetchPredicate.comparison(.path(PropertyPath("isLive")), .equal, .value(.bool(true)))

  @Test func `filters added one by one form one flat list`() throws {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    for _ in 0..<4_000 { request = request.filter(isOf1990) }
    let predicate = try #require(request.predicate)
    guard case .and(let parts) = predicate else {
      Issue.record("The filters are joined by AND.")
      return
    }
    #expect(parts.count == 4_000)
    #expect(try library.holds(predicate, for: album))
  }

  @Test func `a condition built in a loop of 2,000 steps is evaluated`() throws {
    var (conjunction, disjunction, negation) = (isOf1990, isOf1990, isOf1990)
    for index in 0..<2_000 {
      conjunction = index.isMultiple(of: 2) ? .and([conjunction, isLive]) : .and([isLive, conjunction])
      disjunction = .or([disjunction, .constant(false)])
      negation = .not(negation)
    }
    for predicate in [conjunction, disjunction, negation] { #expect(try library.holds(predicate, for: album)) }
    #expect(try !library.holds(.not(negation), for: album))
  }

  @Test func `a condition nested too deep throws an error`() throws {
    func nested(_ depth: Int) -> FetchPredicate {
      (0..<depth).reduce(isOf1990) { $1.isMultiple(of: 2) ? .and([isLive, $0]) : .or([.constant(false), $0]) }
    }
    #expect(try library.holds(nested(150), for: album))
    let error = #expect(throws: CoherenceError.self) { try library.holds(nested(1_000), for: album) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("nested more than 200 deep") == true)
  }

  @Test func `a condition and a calculation may be as deep as the limit, and no deeper`() throws {
    func nested(_ depth: Int) -> FetchPredicate {
      (0..<depth).reduce(isOf1990) { $1.isMultiple(of: 2) ? .and([isLive, $0]) : .or([.constant(false), $0]) }
    }
    func sum(_ depth: Int) -> FetchPredicate {
      let year = FetchExpression.path(PropertyPath("year"))
      return .comparison(
        (0..<depth).reduce(year) { left, _ in .arithmetic(.add, left, .value(.int(1))) }, .greater, .value(.int(1)))
    }
    // The conditions of the innermost list are simple, so that the limit does not concern them.
    #expect(try library.holds(nested(201), for: album) && library.holds(sum(200), for: album))
    for predicate in [nested(202), sum(201)] {
      let error = #expect(throws: CoherenceError.self) { try library.holds(predicate, for: album) }
      #expect(error?.message.contains("nested more than 200 deep") == true)
    }
  }

  @Test func `a deep calculation is refused at each place of a condition in a list`() throws {
    let (year, one) = (FetchExpression.path(PropertyPath("year")), FetchExpression.value(.int(1)))
    let deep = (0..<300).reduce(year) { left, _ in .arithmetic(.add, left, one) }
    let predicates: [FetchPredicate] = [
      .comparison(deep, .less, one), .comparison(one, .less, deep), .membership(deep, in: [.int(1)]),
      .between(deep, one, one), .between(year, deep, one), .between(year, one, deep),
      .comparison(.subquery(PropertyPath("tracks"), .comparison(deep, .less, one)), .less, .value(.int(9))),
      .not(.comparison(deep, .less, one)),
      .quantified(.any, PropertyPath("artist.albums"), .comparison(deep, .less, one)),
    ]
    for predicate in predicates {
      for list in [FetchPredicate.and([isLive, predicate]), .or([isLive, predicate])] {
        let error = #expect(throws: CoherenceError.self) { try library.holds(list, for: album) }
        #expect(error?.message.contains("nested more than 200 deep") == true)
      }
    }
  }

  @Test func `a condition of 20,000 levels is joined or refused on a thread of the concurrency pool`() async throws {
    let (isOf1990, isLive) = (self.isOf1990, self.isLive)
    try await Task.detached {
      // Records belong to their makers.
      let library = try QueryLibrary()
      let album = try library.makeAlbum()
      let joined: [@Sendable (FetchPredicate) -> FetchPredicate] = [
        { .and([isLive, $0]) }, { .or([$0, .constant(false)]) }, { .not($0) },
      ]
      for join in joined {
        #expect(try library.holds((0..<20_000).reduce(isOf1990) { predicate, _ in join(predicate) }, for: album))
      }
      let mixed: [@Sendable (FetchPredicate) -> FetchPredicate] = [
        { .and([isLive, .or([$0, .constant(false)])]) }, { .not(.and([isLive, $0])) },
        { .quantified(.any, PropertyPath("artist.albums"), $0) },
      ]
      for join in mixed {
        let predicate = (0..<10_000).reduce(isOf1990) { predicate, _ in join(predicate) }
        let error = #expect(throws: CoherenceError.self) { try library.holds(predicate, for: album) }
        #expect(error?.code == .invalidPredicate)
      }
    }.value
  }

  @Test func `conditions of 20,000 levels are compared, hashed and described on a thread of the pool`() async {
    let isOf1990 = self.isOf1990
    await Task.detached {
      func nested(_ innermost: FetchPredicate) -> FetchPredicate {
        (0..<10_000).reduce(innermost) { predicate, _ in .not(.and([.constant(true), predicate])) }
      }
      let predicate = nested(isOf1990)
      #expect(predicate == nested(isOf1990) && predicate != nested(.constant(true)))
      #expect(Set([predicate, nested(isOf1990), nested(.constant(true))]).count == 2)
      let (opening, closing) = (
        String(repeating: "NOT (TRUEPREDICATE AND ", count: 10_000), String(repeating: ")", count: 10_000)
      )
      #expect(predicate.description == opening + isOf1990.description + closing)
    }.value
  }

  @Test func `a format of 20,000 parentheses or negations throws an error`() async {
    await Task.detached {
      for (opening, closing) in [("(", ")"), ("NOT (", ")"), ("!", "")] {
        let text =
          String(repeating: opening, count: 20_000) + "year == 1990" + String(repeating: closing, count: 20_000)
        let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: text) }
        #expect(error?.message.contains("nested more than 100 deep") == true)
      }
    }.value
  }

  @Test func `a format is nested up to a hundred deep, and no deeper`() throws {
    func text(_ opening: String, _ middle: String, _ closing: String, _ depth: Int) -> String {
      String(repeating: opening, count: depth) + middle + String(repeating: closing, count: depth)
    }
    for (opening, closing) in [("(", ")"), ("NOT (", ")"), ("!", "")] {
      #expect(try library.holds(text(opening, "year == 1990", closing, 100), for: album))
      let error = #expect(throws: CoherenceError.self) {
        try FetchPredicate(format: text(opening, "year == 1990", closing, 101))
      }
      #expect(error?.message.contains("nested more than 100 deep") == true)
    }
    #expect(try library.holds(text("(", "year", ")", 100) + " == 1990", for: album))
    let error = #expect(throws: CoherenceError.self) {
      try FetchPredicate(format: text("(", "year", ")", 101) + " == 1990")
    }
    #expect(error?.message.contains("nested more than 100 deep") == true)
  }

  @Test func `an operand of a format has up to a hundred operations, and no more`() throws {
    func sum(_ count: Int) -> String { "year" + String(repeating: " + 0", count: count) + " == 1990" }
    #expect(try library.holds(sum(100), for: album))
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: sum(101)) }
    #expect(error?.message.contains("more than 100 operations") == true)
  }

  @Test func `many negations in a format are reduced to one or none`() throws {
    #expect(try library.holds(String(repeating: "!", count: 60) + "(year == 1990)", for: album))
    #expect(try !library.holds(String(repeating: "NOT ", count: 61) + "year == 1990", for: album))
  }

  @Test func `a text with casts nested too deep throws an error`() throws {
    let text = "year == " + String(repeating: "CAST(", count: 100_000)
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: text) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("nested more than 100 deep") == true)
  }

  @Test func `many equality comparisons of one property become a list`() throws {
    let entity = try library.entity("Album")
    func equals(_ path: String, _ value: AttributeValue, _ options: StringOptions = []) -> FetchPredicate {
      .comparison(.path(PropertyPath(path)), .equal, .value(value), options)
    }
    let years = (1900..<1990).map { equals("year", .int(Int64($0))) }
    let titles = (0..<20).map { equals("title", .string("BLUE NOTE \($0)"), .caseInsensitive) }
    let predicate = FetchPredicate.or(years + titles + [isLive, equals("year", .null)])
    let checked = try predicate.checked(for: entity)
    guard case .or(let parts) = checked else {
      Issue.record("The comparisons are joined by OR.")
      return
    }
    #expect(parts.count == 3)
    #expect(try checked.checked(for: entity) == checked)
    #expect(try library.holds(predicate, for: album))
    #expect(try !library.holds(.or(years + titles + [.constant(false)]), for: album))
    #expect(try library.holds(.or(years + titles + [equals("year", .double(1990))]), for: album))
    #expect(try library.holds(.or(titles + [equals("title", .string("blue note"), .caseInsensitive)]), for: album))
    #expect(try !library.holds(.or(titles + [equals("title", .string("blue note"))]), for: album))
    album.values[try #require(entity.attribute(named: "year")).slot] = .null
    #expect(try library.holds(.or(years + titles + [equals("year", .null)]), for: album))
    #expect(try !library.holds(.or(years + titles), for: album))
  }
}
