import Testing

@testable import Mutants

@Suite("The tests that reach a mutant")
struct ReachRecordTests {
  private let record = ReachRecord(
    lines: """
      3 CoreTests.Fetching/sorts()/Fetching.swift:4:6
      3 CoreTests.Fetching/`a limit, and a range`()/Fetching.swift:9:6
      7 CoreTests.free()/Free.swift:1:2
      7 -
      x CoreTests.free()/Free.swift:1:2
      8
      """)

  @Test func `a record has each test without its file, and the hits of no test apart`() {
    #expect(record.tests[3] == ["CoreTests.Fetching/sorts()", "CoreTests.Fetching/`a limit, and a range`()"])
    #expect(record.tests[7] == ["CoreTests.free()"])
    #expect(record.background == [7])
    #expect(record.tests[8] == nil)
    #expect(record.testCount == 3)
  }

  @Test func `the filter of single tests matches these tests and no others`() throws {
    let selection = TestSelection(tests: ["CoreTests.Fetching/sorts()", "MapTests.free()"])
    let filter = try Regex(selection.filter)
    #expect("CoreTests.Fetching/sorts()/Fetching.swift:4:6".contains(filter))
    #expect("MapTests.free()/Free.swift:1:2".contains(filter))
    #expect(!"CoreTests.Fetching/sortsAll()/Fetching.swift:4:6".contains(filter))
    #expect(!"MapTests.freely()/Free.swift:1:2".contains(filter))
    #expect(!"OtherCoreTests.Fetching/sorts()/Fetching.swift:4:6".contains(filter))
    #expect(selection.name == "CoreTests, MapTests")
  }

  @Test func `suites stand for more tests than fit into an argument`() throws {
    let tests = Set((1...5_000).map { "CoreTests.Fetching/sortsByAttribute\($0)()" })
    let selection = TestSelection(tests: tests)
    #expect(selection.filter == #"^(CoreTests\.Fetching)(/|$)"#)
  }
}
